"""Makes images of code for the simulator: PTX, and ELF files that look like cubins."""

import struct

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB = 1, 2, 3
STT_FUNC_GLOBAL = (1 << 4) | 2
EM_CUDA = 190


def ptx(*kernels):
    """PTX with these kernels; names may be invalid text."""
    text = b".version 7.0\n.target sm_70\n.address_size 64\n"
    for name in kernels:
        name = name if isinstance(name, bytes) else name.encode()
        text += b".visible .entry " + name + b"()\n{\nret;\n}\n"
    return text


def _strings(names):
    table, places = b"\0", {}
    for name in names:
        places[name] = len(table)
        table += name + b"\0"
    return table, places


def cubin(kernels, padding=0, fill=b"\0"):
    """An ELF image with a code section and a symbol for each kernel, and `padding` bytes between.

    Returns the pieces as [(offset, bytes)] and the size, so that a big one can be written sparsely.
    """
    names = [name if isinstance(name, bytes) else name.encode() for name in kernels]
    sections = [b""] + [b".text." + name for name in names] + [b".symtab", b".strtab",
                                                              b".shstrtab"]
    shstrings, sh_places = _strings(sections[1:])
    strings, places = _strings(names)
    code = b"\x90" * 64
    offset = 64
    bodies = [(0, 0)]
    pieces = []
    for _ in names:
        pieces.append((offset, code))
        bodies.append((offset, len(code)))
        offset += len(code)
    if padding:
        if fill != b"\0":
            pieces.append((offset, fill))
        offset += padding
    symbols = b"\0" * 24
    for index, name in enumerate(names):
        symbols += struct.pack("<IBBHQQ", places[name], STT_FUNC_GLOBAL, 0x10, index + 1, 0,
                               len(code))
    for data in (symbols, strings, shstrings):
        pieces.append((offset, data))
        bodies.append((offset, len(data)))
        offset += len(data) + (-len(data) % 8)
    headers = b""
    for index, name in enumerate(sections):
        kind, link, info, entry = SHT_PROGBITS, 0, 0, 0
        if index == 0:
            kind = 0
        elif name == b".symtab":
            kind, link, info, entry = SHT_SYMTAB, len(sections) - 2, 1, 24
        elif name in (b".strtab", b".shstrtab"):
            kind = SHT_STRTAB
        headers += struct.pack("<IIQQQQIIQQ", sh_places.get(name, 0), kind,
                               6 if name.startswith(b".text") else 0, 0, *bodies[index], link,
                               info, 8, entry)
    pieces.append((offset, headers))
    size = offset + len(headers)
    elf = b"\x7fELF\x02\x01\x01\x33\x07" + b"\0" * 7
    elf += struct.pack("<HHIQQQIHHHHHH", 2, EM_CUDA, 1, 0, 0, offset, 0x500550, 64, 0, 0, 64,
                       len(sections), len(sections) - 1)
    pieces.append((0, elf))
    return pieces, size


def write(path, pieces, size):
    with open(path, "wb") as file:
        file.truncate(size)
        for offset, data in pieces:
            file.seek(offset)
            file.write(data)
    return path
