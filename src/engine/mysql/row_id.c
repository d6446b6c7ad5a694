/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts ids of rows to segments of paths (engine/row_id.h) and back, as SQL expressions. The
 * store has no function for it, since creating a function requires privileges that creating a
 * procedure does not.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/mysql/table.h"

/* Every character that is encoded, except '%': in UTF-8, as hexadecimal digits. */
static const char *const special[] = {
    "2F",     "3F",     "7B",     "7D",     "01",     "02",     "03",     "04",     "05",
    "06",     "07",     "08",     "09",     "0A",     "0B",     "0C",     "0D",     "0E",
    "0F",     "10",     "11",     "12",     "13",     "14",     "15",     "16",     "17",
    "18",     "19",     "1A",     "1B",     "1C",     "1D",     "1E",     "1F",     "20",
    "7F",     "C280",   "C281",   "C282",   "C283",   "C284",   "C285",   "C286",   "C287",
    "C288",   "C289",   "C28A",   "C28B",   "C28C",   "C28D",   "C28E",   "C28F",   "C290",
    "C291",   "C292",   "C293",   "C294",   "C295",   "C296",   "C297",   "C298",   "C299",
    "C29A",   "C29B",   "C29C",   "C29D",   "C29E",   "C29F",   "C2A0",   "E19A80", "E28080",
    "E28081", "E28082", "E28083", "E28084", "E28085", "E28086", "E28087", "E28088", "E28089",
    "E2808A", "E280A8", "E280A9", "E280AF", "E2819F", "E38080",
};
enum { SPECIAL_COUNT = sizeof special / sizeof special[0] };

/* Writes C2A0 as %C2%A0. */
static void put_code(FILE *text, const char *digits) {
    for (; *digits != '\0'; digits += 2) {
        (void)fprintf(text, "%%%.2s", digits);
    }
}

static void put_begin(FILE *text, size_t count) {
    for (size_t i = 0; i < count; i++) {
        (void)fputs("REPLACE(", text);
    }
}

/* '%' is encoded first, so that codes are not encoded again; it is decoded last. */
static void put_encoding(FILE *text, const char *bytes) {
    put_begin(text, SPECIAL_COUNT + 1);
    (void)fprintf(text, "%s,'%%','%%25')", bytes);
    for (size_t i = 0; i < SPECIAL_COUNT; i++) {
        (void)fprintf(text, ",x'%s','", special[i]);
        put_code(text, special[i]);
        (void)fputs("')", text);
    }
}

static void put_decoding(FILE *text, const char *segment) {
    put_begin(text, SPECIAL_COUNT + 2);
    (void)fprintf(text, "%s,'%%2E','.')", segment);
    for (size_t i = 0; i < SPECIAL_COUNT; i++) {
        (void)fputs(",'", text);
        put_code(text, special[i]);
        (void)fprintf(text, "',x'%s')", special[i]);
    }
    (void)fputs(",'%25','%')", text);
}

static char *close_text(FILE *text, char **bytes) {
    bool is_whole = ferror(text) == 0;

    if (fclose(text) != 0 || !is_whole) {
        free(*bytes);
        return NULL;
    }
    return *bytes;
}

/* MySQL's regular expressions do not match bytes, but in latin1 each byte is a letter. */
char *lk_mysql_encoded(const struct lk_mysql_table_info *info) {
    char bytes[sizeof info->column + 64];
    char *made = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&made, &size);

    if (text == NULL) {
        return NULL;
    }
    if (info->is_integer) {
        (void)fprintf(text, "CAST(CAST(%s AS CHAR) AS BINARY)", info->column);
        return close_text(text, &made);
    }
    (void)snprintf(bytes, sizeof bytes, "CAST(CONVERT(%s USING utf8mb4) AS BINARY)", info->column);
    (void)fprintf(text,
                  "CASE WHEN CONVERT(%s USING latin1) REGEXP"
                  " '^[0-9A-Za-z_:-][0-9A-Za-z_:.-]*\\\\z' AND LENGTH(%s) <= 255 THEN %s"
                  " WHEN %s = '.' THEN '%%2E' WHEN %s = '..' THEN '%%2E%%2E'"
                  " WHEN LENGTH(%s) BETWEEN 1 AND 255 AND LOCATE(x'00', %s) = 0 AND LENGTH(",
                  bytes, bytes, bytes, bytes, bytes, bytes, bytes);
    put_encoding(text, bytes);
    (void)fputs(") <= 255 THEN ", text);
    put_encoding(text, bytes);
    (void)fputs(" END", text);
    return close_text(text, &made);
}

char *lk_mysql_decoded(const struct lk_mysql_table_info *info, const char *segment) {
    char *made = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&made, &size);

    if (text == NULL) {
        return NULL;
    }
    if (info->is_integer) {
        (void)fprintf(text,
                      "CASE WHEN CONVERT(%s USING latin1) REGEXP '^-?[0-9]{1,20}\\\\z'"
                      " THEN CAST(%s AS %s) END",
                      segment, segment, info->is_unsigned ? "UNSIGNED" : "SIGNED");
        return close_text(text, &made);
    }
    (void)fprintf(text, "CONVERT(CONVERT(IF(LOCATE('%%', %s) = 0, %s, ", segment, segment);
    put_decoding(text, segment);
    (void)fprintf(text, ") USING utf8mb4) USING %s) COLLATE %s", info->charset, info->collation);
    return close_text(text, &made);
}
