# build.mk - the schema of JSON, and the pages of the manual. Variables and macros are the Makefile's.

# The program holds the schema, as a string.
$(BUILD)/cli/info/schema.c: cli/schema.json
	$(Q)mkdir -p $(@D) && { echo 'extern const char schema_text[];'; echo 'const char schema_text[] ='; \
	    sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $<; echo ';'; } >$@
$(BUILD)/cli/info/schema.o: $(BUILD)/cli/info/schema.c
	$(call compile,CC,$(c_compiler))

# Pages of man/, with the texts of the program's tables.
schema := $(BUILD)/schema.json
pages := $(patsubst man/%,$(BUILD)/man/%,$(wildcard man/*.[1-9]))
installed_page = $(installed)/share/man/man$(subst .,,$(suffix $(1)))/$(notdir $(1))
pages: $(pages) $(schema)

$(BUILD)/man/generate: $(BUILD)/man/generate.o $(library)
	$(call link)
$(pages): $(BUILD)/man/%: man/% $(BUILD)/man/generate
	$(call say,PAGE,$@)
	$(Q)$(BUILD)/man/generate $< >$@.new && mv $@.new $@

# The schema, complete.
$(schema): $(binary)
	$(call say,SCHEMA,$@)
	$(Q)$(abspath $(binary)) help schema.json >$@.new && mv $@.new $@
