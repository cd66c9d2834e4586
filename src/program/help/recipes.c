#include <stdio.h>
#include <string.h>

#include "help/internal.h"
#include "precision/precision.h"

/* Recipes: what products multiply. */

/* "high last=1" as the key that replaces it, "scaling unit" likewise; rules as they are. */
static void put_part(hu_page *page, const char *part, size_t length) {
    static const char *const keys[][2] = {{"high ", "operand.high="},
                                          {"scaling ", "precision.scaling="}};
    const char *key = "";
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t own = strlen(keys[i][0]);
        if (strncmp(part, keys[i][0], own) != 0) continue;
        key = keys[i][1];
        part += own;
        length -= own;
    }
    hu_page_put(page, "    %s%.*s\n", key, (int)length, part);
}

static void put_parts(hu_page *page, const char *parts) {
    while (*parts) {
        size_t length = strcspn(parts, ";");
        put_part(page, parts, length);
        parts += length + (parts[length] == ';');
        parts += strspn(parts, " ");
    }
}

static void put_row(hu_page *page, const char *name, const char *help, const char *parts) {
    hu_page_put(page, "%s: a recipe, for precision=%s\n  ", name, name);
    hu_put_wrapped(page, help, 2, 2);
    put_parts(page, parts);
}

bool hu_put_recipe(hu_page *page, const char *word) {
    const char *name, *help, *parts;
    for (size_t i = 0; (name = hu_recipe_at(i, &help, &parts)) != NULL; i++) {
        if (strcmp(name, word) != 0) continue;
        put_row(page, name, help, parts);
        hu_page_put(page, "`halfulp help recipes` lists them all, and says what that means.\n");
        return true;
    }
    return false;
}

void hu_put_recipes(hu_page *page) {
    const char *name, *help, *parts;
    hu_page_put(page,
                "Recipes, for precision=NAME: what the products of convolutions and linear layers "
                "multiply\nis rounded for each product alone, in blocks along the dimension that "
                "it sums over.\nEverything else is float32, unless precision.rules= say "
                "otherwise.\n\n");
    for (size_t i = 0; (name = hu_recipe_at(i, &help, &parts)) != NULL; i++) {
        put_row(page, name, help, parts);
        hu_page_put(page, "\n");
    }
    hu_page_put(page,
                "A line is a rule of operand.rules=, later ones win: *.x, *.w and *.dy are the "
                "input, the\nweights and the gradient of the output in all products that read "
                "them; x, w and dy alone\nare one copy for all of them. operand.high= names "
                "layers that stay as they are. A recipe of\none's own: "
                "docs/how-to/recipes.md. `halfulp plan ... precision=NAME` shows every layer.\n");
}
