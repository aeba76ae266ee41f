#include "preload/names.h"

#include "preload/process.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

/*
 * Handles are keys of a hash table of fixed size, whose cells are never emptied: a cell keeps its
 * key and gets another node when the handle means something else. The nodes of a module that was
 * unloaded are used again. PyTorch registers some 60 000 host functions.
 */
#define CELLS       (1u << 18)
#define NODES       (1u << 17)
#define MOST_PROBES 64

struct node {
    const char *name;        /* of a registered host function */
    _Atomic uint32_t number; /* of the kernel, or of the module */
    uint32_t owner;          /* node */
    uint32_t next;           /* owner's list; its first member in the owner itself */
    uint32_t alias_of;       /* node whose number counts */
    uintptr_t key;
};

struct cell {
    _Atomic uintptr_t key;
    _Atomic uint32_t node; /* 0: void */
};

static struct cell cells[CELLS];
static struct node nodes[NODES];
static _Atomic uint32_t nodes_used = 1;
static uint32_t free_nodes; /* linked by `next` */
static _Atomic uint32_t kernels_numbered;
static _Atomic uint32_t owners_numbered;

/* Held while lists are changed: by calls that load, name and unload code, never by a launch. */
static atomic_flag changing = ATOMIC_FLAG_INIT;
static _Thread_local bool changes __attribute__((tls_model("initial-exec")));

static _Atomic bool full;

static void count_lost(void)
{
    if (gv_process.spool.header)
        atomic_fetch_add(&gv_process.spool.header->lost.names, 1);
}

/* False, and counted: a signal handler that loads, names or unloads code has interrupted its own
 * thread's change, and would wait for itself. */
static bool change_begin(void)
{
    if (changes) {
        count_lost();
        return false;
    }
    changes = true;
    atomic_signal_fence(memory_order_seq_cst);
    while (atomic_flag_test_and_set_explicit(&changing, memory_order_acquire))
        sched_yield();
    return true;
}

static void change_end(void)
{
    atomic_flag_clear_explicit(&changing, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    changes = false;
}

static uint32_t hash_of(uintptr_t key)
{
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 40);
}

static struct cell *cell_of(uintptr_t key, bool make)
{
    uint32_t at = hash_of(key);

    if (!key)
        return NULL;
    for (int probe = 0; probe < MOST_PROBES; probe++, at++) {
        struct cell *cell = &cells[at % CELLS];
        uintptr_t found = atomic_load_explicit(&cell->key, memory_order_acquire);

        if (found == 0 && make && atomic_compare_exchange_strong(&cell->key, &found, key))
            return cell;
        if (found == key)
            return cell;
        if (found == 0)
            return NULL;
    }
    return NULL;
}

static uint32_t node_of(uintptr_t key)
{
    struct cell *cell = cell_of(key, false);

    return cell ? atomic_load_explicit(&cell->node, memory_order_acquire) : 0;
}

static uint32_t take_node(void)
{
    uint32_t index = free_nodes;

    if (index) {
        free_nodes = nodes[index].next;
        nodes[index] = (struct node){0};
        return index;
    }
    index = atomic_load(&nodes_used);
    if (index >= NODES)
        return 0;
    atomic_store(&nodes_used, index + 1);
    return index;
}

static void give_node(uint32_t index)
{
    atomic_store(&full, false);
    nodes[index].key = 0;
    nodes[index].next = free_nodes;
    free_nodes = index;
}

/* A new node for `key`, in the list of `owner` (a node; 0: none). To be published by publish(). */
static uint32_t append(uintptr_t key, uint32_t owner)
{
    uint32_t index = cell_of(key, true) ? take_node() : 0;

    if (!index) {
        atomic_store(&full, true);
        count_lost();
        return 0;
    }
    nodes[index].key = key;
    nodes[index].owner = owner;
    if (owner) {
        nodes[index].next = nodes[owner].next;
        nodes[owner].next = index;
    }
    return index;
}

static void publish(uint32_t index)
{
    atomic_store_explicit(&cell_of(nodes[index].key, false)->node, index, memory_order_release);
}

uint32_t gv_names_add_owner(uintptr_t handle)
{
    uint32_t number = 0;
    uint32_t index;

    if (!change_begin())
        return 0;
    index = append(handle, 0);
    if (index) {
        number = atomic_fetch_add(&owners_numbered, 1) + 1;
        nodes[index].number = number;
        publish(index);
    }
    change_end();
    return number;
}

uint32_t gv_names_owner(uintptr_t handle)
{
    uint32_t index = node_of(handle);

    if (index && nodes[index].alias_of)
        index = nodes[index].alias_of;
    return index ? nodes[index].number : 0;
}

/* The node of a module or library, by any of its handles. */
static uint32_t owner_of(uintptr_t handle)
{
    uint32_t index = node_of(handle);

    return nodes[index].alias_of ? nodes[index].alias_of : index;
}

static bool is_owned_by(uint32_t index, uint32_t owner_node)
{
    return nodes[index].owner == owner_node;
}

bool gv_names_add(uintptr_t handle, uintptr_t owner, uint32_t *kernel)
{
    bool is_new = false;
    uint32_t owner_node;
    uint32_t index;

    index = node_of(handle);
    if (index && is_owned_by(index, owner_of(owner)))
        return false;
    if (!change_begin())
        return false;
    owner_node = owner_of(owner);
    index = node_of(handle);
    index = index && is_owned_by(index, owner_node) ? 0 : append(handle, owner_node);
    if (index) {
        *kernel = atomic_fetch_add(&kernels_numbered, 1) + 1;
        nodes[index].number = *kernel;
        publish(index);
        is_new = true;
    }
    change_end();
    return is_new;
}

void gv_names_register(uintptr_t host_function, uintptr_t owner, const char *name)
{
    uint32_t owner_node;
    uint32_t index;

    if (!change_begin())
        return;
    owner_node = node_of(owner);
    if (!owner_node) {
        owner_node = append(owner, 0);
        if (owner_node)
            publish(owner_node);
    }
    index = append(host_function, owner_node);
    if (index) {
        nodes[index].name = name;
        publish(index);
    }
    change_end();
}

void gv_names_alias(uintptr_t handle, uintptr_t known)
{
    uint32_t target = node_of(known);
    uint32_t index;

    if (!target || handle == known)
        return;
    if (nodes[target].alias_of)
        target = nodes[target].alias_of;
    index = node_of(handle);
    if (index && (index == target || nodes[index].alias_of == target))
        return;
    if (!change_begin())
        return;
    index = append(handle, nodes[target].owner ? nodes[target].owner : target);
    if (index) {
        nodes[index].alias_of = target;
        publish(index);
    }
    change_end();
}

struct gv_names_answer gv_names_find(uintptr_t handle)
{
    struct gv_names_answer answer = {0, 0, NULL};
    uint32_t index = node_of(handle);
    struct node *node;
    uint32_t unnumbered = 0;

    if (!index)
        return answer;
    node = &nodes[nodes[index].alias_of ? nodes[index].alias_of : index];
    answer.owner = node->owner ? nodes[node->owner].number : 0;
    answer.kernel = atomic_load_explicit(&node->number, memory_order_acquire);
    if (__builtin_expect(answer.kernel != 0, 1) || !node->name)
        return answer;
    answer.kernel = atomic_fetch_add(&kernels_numbered, 1) + 1;
    if (atomic_compare_exchange_strong(&node->number, &unnumbered, answer.kernel))
        answer.name = node->name;
    else
        answer.kernel = unnumbered; /* another thread launched it first */
    return answer;
}

static void void_key(uint32_t index)
{
    struct cell *cell = cell_of(nodes[index].key, false);
    uint32_t expected = index;

    /* The handle may mean something newer by now, which stays. */
    if (cell)
        atomic_compare_exchange_strong(&cell->node, &expected, 0);
}

uint32_t gv_names_void_owner(uintptr_t owner)
{
    uint32_t number = 0;
    uint32_t index;

    if (!change_begin())
        return 0;
    index = node_of(owner);
    if (index && nodes[index].alias_of)
        index = nodes[index].alias_of;
    if (index) {
        uint32_t member = nodes[index].next;

        number = nodes[index].number;
        void_key(index);
        give_node(index);
        while (member) {
            uint32_t next = nodes[member].next;

            void_key(member);
            give_node(member);
            member = next;
        }
    }
    change_end();
    return number;
}

void gv_names_void_loaded(void)
{
    uint32_t used = atomic_load(&nodes_used);

    if (!change_begin())
        return;
    for (uint32_t index = 1; index < used; index++) {
        bool is_registered = nodes[index].name || (!nodes[index].number && !nodes[index].alias_of);
        uint32_t owner = nodes[index].owner;

        if (!nodes[index].key || is_registered)
            continue;
        void_key(index);
        /* An alias of a host function stays in the list of what was registered with it. */
        if (!owner || nodes[owner].number || !nodes[owner].key)
            give_node(index);
    }
    change_end();
}

bool gv_names_are_full(void)
{
    return atomic_load_explicit(&full, memory_order_relaxed);
}

static bool held;

void gv_names_hold(void)
{
    bool could = change_begin();

    held =
        could; /* not in a handler that forks in the middle of a change: that one goes on after */
}

void gv_names_release(void)
{
    if (held)
        change_end();
}

void gv_names_start_over(void)
{
    uint32_t used = atomic_load(&nodes_used);

    for (uint32_t index = 1; index < used; index++) {
        bool registered = nodes[index].name != NULL;

        if (atomic_exchange(&nodes[index].number, 0) && !registered)
            void_key(index);
    }
}
