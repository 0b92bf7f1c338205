# build.mk - the schema as a part of the program, and the pages of the manual. Variables and macros are the Makefile's.

# The program holds the schema, as a string.
$(BUILD)/cli/info/schema.c: cli/schema.json
	$(Q)mkdir -p $(@D) && { echo 'extern const char schema_text[];'; echo 'const char schema_text[] ='; \
	    sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $<; echo ';'; } >$@
$(BUILD)/cli/info/schema.o: $(BUILD)/cli/info/schema.c
	$(call compile,CC,$(c_compiler))

# Pages of man/, with the texts of the program's tables.
pages := $(patsubst man/%,$(BUILD)/man/%,$(wildcard man/*.[1-9]))
installed_page = $(installed)/share/man/man$(subst .,,$(suffix $(1)))/$(notdir $(1))
pages: $(pages)

$(BUILD)/man/generate: $(BUILD)/man/generate.o $(library)
	$(call link)
$(pages): $(BUILD)/man/%: man/% $(BUILD)/man/generate
	$(call say,PAGE,$@)
	$(Q)$(BUILD)/man/generate $< >$@.new && mv $@.new $@
