/*
 * A flame graph as a picture that needs no script: outermost frames on top, the GPU's work at the
 * bottom, width is time. A frame's title, which browsers show when the pointer is on it, has its
 * numbers.
 */
#include "report/commands/export/flame.h"

#include "report/store/time_sum.h"
#include "report/show/format.h"
#include "report/show/xml.h"
#include "trace/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define GV_SVG_MADE_BY "<!-- made by gpuverify export -->"

#define GV_SVG_WIDTH  1200
#define GV_SVG_MARGIN 10
#define GV_SVG_HEAD   74 /* above the frames */
#define GV_SVG_ROW    18
#define GV_SVG_LETTER 6.7 /* wide, at 11 pixels */
/* A narrower frame has no text. */
#define GV_SVG_LETTERS 3
/* Smaller parts of all are one frame, or left out. */
#define GV_SVG_SMALL  0.001
#define GV_SVG_SHADES 5

struct svg {
    FILE *out;
    const struct gv_weighed *what;
    const struct gv_flame *root;
};

/* What the kinds look like: a letter for the style sheet, their name. */
static const struct {
    char class;
    const char *name;
} svg_kinds[GV_FLAME_KINDS] = {
    [GV_FLAME_OWN] = {'o', "the program's own line"},
    [GV_FLAME_PACKAGE] = {'p', "package"},
    [GV_FLAME_NATIVE] = {'n', "native code"},
    [GV_FLAME_LEAF] = {'l', NULL}, /* of what is weighed */
};

/* Not only by colour: each kind's text has a style too. Shades tell neighbours apart. */
static const char svg_style[] =
    "<style>\n"
    "text{font:11px monospace;fill:#111}\n"
    ".h{font:bold 15px sans-serif}.t,.g text{font:12px sans-serif}\n"
    "svg{background:#fff}.b{fill:#fff}.f rect{stroke:#fff;stroke-width:.6}\n"
    ".o rect{fill:#e8871e}.p rect{fill:#3f8fc4}.n rect{fill:#8c8c8c}.l rect{fill:#4caf50}\n"
    "g.o text{font-weight:bold}g.n text{font-style:italic}g.l text{text-decoration:underline}\n"
    ".a rect{fill:#b9b9b9}\n"
    ".s0{fill-opacity:.45}.s1{fill-opacity:.53}.s2{fill-opacity:.61}.s3{fill-opacity:.69}"
    ".s4{fill-opacity:.77}\n"
    "@media(prefers-color-scheme:dark){text{fill:#f4f4f4}svg{background:#16181c}.b{fill:#16181c}.f "
    "rect{stroke:#16181c}\n"
    ".s0{fill-opacity:.38}.s1{fill-opacity:.43}.s2{fill-opacity:.48}.s3{fill-opacity:.53}"
    ".s4{fill-opacity:.58}}\n"
    "</style>\n";

static const char *svg_kind_name(const struct svg *svg, enum gv_flame_kind kind)
{
    return svg_kinds[kind].name ? svg_kinds[kind].name : svg->what->leaf;
}

static double svg_share(const struct svg *svg, int64_t ns)
{
    return (double)ns / (double)svg->root->ns;
}

/* The same for the same name in every picture. */
static unsigned int svg_shade(const char *name)
{
    uint32_t hash = 2166136261u;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash % GV_SVG_SHADES;
}

/* As much of a name as fits, with its share if that fits too. */
static void svg_label(const struct svg *svg, const char *name, double share, double width)
{
    size_t room = (size_t)((width - 6) / GV_SVG_LETTER), length = gv_text_width(name);
    char cut[GV_FLAME_NAME_BYTES];

    if (width < 6 || room < GV_SVG_LETTERS)
        return;
    if (length <= room)
        gv_xml_text(svg->out, name);
    if (length + 7 <= room)
        fprintf(svg->out, "  %.*f %%", share < 0.0995 ? 1 : 0, share * 100);
    if (length <= room)
        return;
    snprintf(cut, sizeof(cut), "%.*s", (int)gv_format_prefix(name, room - 2), name);
    gv_xml_text(svg->out, cut);
    fputs("..", svg->out);
}

/* One box at `x`. `kind` is the style's letter, `said` what the title says of it. */
static void svg_box(const struct svg *svg, char class, const char *name, const char *said,
                    const struct gv_flame *numbers, double x, int row)
{
    double share = svg_share(svg, numbers->ns), width = share * (GV_SVG_WIDTH - 2 * GV_SVG_MARGIN);
    int y = GV_SVG_HEAD + row * GV_SVG_ROW;
    char time[GV_FORMAT_BYTES];

    fprintf(svg->out, "<g class=\"%c\"><title>", class);
    gv_xml_text(svg->out, name);
    fprintf(svg->out, "\n%s%s%s, %.*f %%", said, *said ? ": " : "",
            gv_format_duration(time, numbers->ns), share < 0.0995 ? 2 : 1, share * 100);
    if (numbers->samples > 0)
        fprintf(svg->out, ", %" PRId64 " sample%s", numbers->samples,
                numbers->samples == 1 ? "" : "s");
    fprintf(svg->out,
            "</title><rect class=\"s%u\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>"
            "<text x=\"%.1f\" y=\"%d\">",
            svg_shade(name), x, y, width, GV_SVG_ROW, x + 3, y + 13);
    svg_label(svg, name, share, width);
    fputs("</text></g>\n", svg->out);
}

/* Draws a frame's children below it, the small ones together. */
static void svg_children(const struct svg *svg, const struct gv_flame *frame, double x, int row)
{
    struct gv_flame small = {0};
    char name[64];

    for (size_t i = 0; i < frame->count; i++) {
        const struct gv_flame *child = frame->children[i];
        if (svg_share(svg, child->ns) < GV_SVG_SMALL) {
            small.ns = gv_time_sum(small.ns, child->ns);
            small.count++;
            continue;
        }
        svg_box(svg, svg_kinds[child->kind].class, child->name, svg_kind_name(svg, child->kind),
                child, x, row);
        svg_children(svg, child, x, row + 1);
        x += svg_share(svg, child->ns) * (GV_SVG_WIDTH - 2 * GV_SVG_MARGIN);
    }
    snprintf(name, sizeof(name), "%zu smaller", small.count);
    if (svg_share(svg, small.ns) >= GV_SVG_SMALL)
        svg_box(svg, 'n', name, "", &small, x, row);
}

/* Rows below a frame. */
static int svg_rows(const struct svg *svg, const struct gv_flame *frame)
{
    int most = 0;

    for (size_t i = 0; i < frame->count; i++)
        if (svg_share(svg, frame->children[i]->ns) >= GV_SVG_SMALL) {
            int rows = 1 + svg_rows(svg, frame->children[i]);
            most = rows > most ? rows : most;
        }
    return frame->count > 0 && most == 0 ? 1 : most;
}

static void svg_legend(const struct svg *svg)
{
    int x = GV_SVG_MARGIN;

    fputs("<g class=\"g\">\n", svg->out);
    for (int kind = 0; kind < GV_FLAME_KINDS; kind++) {
        const char *name = svg_kind_name(svg, (enum gv_flame_kind)kind);
        fprintf(svg->out,
                "<g class=\"%c\"><rect class=\"s2\" x=\"%d\" y=\"48\" width=\"14\" height=\"14\"/>"
                "<text x=\"%d\" y=\"60\">%s</text></g>\n",
                svg_kinds[kind].class, x, x + 19, name);
        x += 50 + 7 * (int)strlen(name);
    }
    fputs("</g>\n", svg->out);
}

/* "GPU time of train in forward". */
static void svg_subject(const struct svg *svg)
{
    const char *title = svg->what->title;
    char range[GV_FLAME_NAME_BYTES];

    fprintf(svg->out, "%c%s of ", toupper((unsigned char)title[0]), title + 1);
    gv_xml_text(svg->out, svg->root->name);
    if (!svg->what->range)
        return;
    gv_text_escape(range, sizeof(range), svg->what->range);
    fputs(" in ", svg->out);
    gv_xml_text(svg->out, range);
}

static void svg_head(const struct svg *svg)
{
    int height = GV_SVG_HEAD + (1 + svg_rows(svg, svg->root)) * GV_SVG_ROW + GV_SVG_MARGIN;
    char time[GV_FORMAT_BYTES];

    fprintf(svg->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\""
            " viewBox=\"0 0 %d %d\">" GV_SVG_MADE_BY "\n<title>",
            GV_SVG_WIDTH, height, GV_SVG_WIDTH, height);
    svg_subject(svg);
    fprintf(svg->out,
            "</title>\n%s<rect class=\"b\" width=\"%d\" height=\"%d\"/>\n"
            "<text class=\"h\" x=\"%d\" y=\"20\">",
            svg_style, GV_SVG_WIDTH, height, GV_SVG_MARGIN);
    svg_subject(svg);
    fprintf(svg->out,
            ": %s</text>\n<text class=\"t\" x=\"%d\" y=\"38\">Width is time. Point at a frame for"
            " its numbers. Frames below 0.1 %% are drawn together or left out.</text>\n",
            gv_format_duration(time, svg->root->ns), GV_SVG_MARGIN);
    svg_legend(svg);
}

int gv_export_svg(sqlite3 *trace, const struct gv_weighed *what, FILE *out)
{
    struct gv_flame *root;
    struct svg svg = {.out = out, .what = what};
    int error = gv_flame_read(trace, what, &root);

    svg.root = root;
    if (!error) {
        svg_head(&svg);
        fputs("<g class=\"f\">\n", out);
        svg_box(&svg, 'a', root->name, "all", root, GV_SVG_MARGIN, 0);
        svg_children(&svg, root, GV_SVG_MARGIN, 1);
        fputs("</g>\n</svg>\n", out);
    }
    gv_flame_free(root);
    return error;
}

bool gv_export_is_svg(const char *head)
{
    return strncmp(head, "<svg", 4) == 0 && strstr(head, GV_SVG_MADE_BY) != NULL;
}
