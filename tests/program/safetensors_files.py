"""Files of weights for tests: read, written, exported."""
import json
import struct

import program


def read_file(path):
    """(metadata, {name: (dtype, shape, bytes)}) of a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header, body = json.loads(data[8:8 + length]), data[8 + length:]
    metadata = header.pop("__metadata__", {})
    return metadata, {name: (entry["dtype"], entry["shape"], body[slice(*entry["data_offsets"])])
                      for name, entry in header.items()}


def write_file(path, tensors, metadata=None):
    header, body = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


def floats(tensor):
    return struct.unpack(f"<{len(tensor[2]) // 4}f", tensor[2])


def export(run, *words, cwd):
    code, out, err = program.call("export", run, *words, "--json", cwd=cwd)
    if code != 0:
        raise SystemExit(f"export {run} {words}: exit {code}: {err}")
    return json.loads(out)


def refused(checks, cwd, code, *says, words):
    found, out, err = program.call(*words, cwd=cwd)
    checks.same((found, out), (code, ""), f"{words}: exit code and output")
    for text in says:
        checks.that(text in err, f"{words}: {text!r} in {err!r}")
    checks.that(err.count("\n") == 1, f"{words}: one line: {err!r}")
