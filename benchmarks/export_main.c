/* Reads cells, texts that end with a NUL; prints class and decision of each row, then the nanoseconds per row. */
#include <stdio.h>
#include <time.h>
#include "model.h"

static double (*const readers[])(const char *) = {@READERS@};
static const int nominal[] = {@NOMINAL@};

int main(void)
{
    size_t size = 1 << 16, length = 0, rows, r;
    char *cells = malloc(size), **starts, *cell;
    double row[LDEP_COLUMNS], *numbers, seconds = 0.0;
    long answered = 0, positive = 0;
    int letter, c;
    clock_t began;
    size_t count = 0, at;
    while ((letter = getchar()) != EOF) {
        if (length == size) cells = realloc(cells, size *= 2);
        cells[length++] = (char)letter;
        count += letter == 0;
    }
    rows = count / LDEP_COLUMNS;
    starts = malloc(count * sizeof *starts);
    numbers = malloc(count * sizeof *numbers);
    for (cell = cells, at = 0; at < count; at++, cell += strlen(cell) + 1) {
        starts[at] = cell;
        numbers[at] = readers[at % LDEP_COLUMNS](cell);
    }
    for (r = 0; r < rows; r++) {
        const double *whole = numbers + r * LDEP_COLUMNS;
        printf("%d %.17g\n", ldep_predict(whole), ldep_decision(whole));
    }
    /* Numbers are at hand as doubles; texts are encoded for each row. */
    began = clock();
    while (seconds < 0.2) {
        for (r = 0; r < rows; r++) {
            for (c = 0; c < LDEP_COLUMNS; c++) {
                at = r * LDEP_COLUMNS + (size_t)c;
                row[c] = nominal[c] ? readers[c](starts[at]) : numbers[at];
            }
            positive += ldep_predict(row);
            answered++;
        }
        seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
    }
    printf("%.6g %ld\n", 1e9 * seconds / (double)answered, positive);
    return 0;
}
