/* Built without unwind tables. */
void without_tables(void (*to)(unsigned levels), unsigned levels);

void without_tables(void (*to)(unsigned levels), unsigned levels)
{
    volatile unsigned here[8];

    here[0] = levels;
    to(levels);
    here[1] = here[0];
}
