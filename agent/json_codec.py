# JSON for the agent: decode() what the client sends, encode_framed() what we
# answer.
#
# Our own, because importing json may wait for an import lock that the hung
# thread holds, and because what leaves here must be valid UTF-8 whatever the
# program's strings hold. Source: RFC 8259.


def decode(text):
    """The value of a JSON text. ValueError or IndexError if it is none; nesting
    is bounded, so a hostile text cannot use up the C stack."""
    value, at = _value(text, 0, 64)
    if text[at:].strip():
        raise ValueError("text after the value at %d" % at)
    return value


def encode_framed(message):
    """A message as bytes with its Content-Length header; lone surrogates
    become "?"."""
    body = encode(message).encode("utf-8", "replace")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def encode(value):
    """JSON text of None, bool, int, str, list, tuple and dict with str keys."""
    kind = type(value)
    if issubclass(kind, str):
        value = str.__str__(value)
        # A few memchr passes: str.translate takes 100 ms for a 1 MB repr. Most
        # strings are short, and have nothing to escape.
        if not value.isprintable() or "\\" in value or '"' in value:
            for raw, escaped in _ESCAPES:
                if raw in value:
                    value = value.replace(raw, escaped)
        return '"%s"' % value
    if kind is dict:
        return "{%s}" % ",".join(
            ["%s:%s" % (encode(key), encode(item)) for key, item in value.items()])
    if kind is list or kind is tuple:
        return "[%s]" % ",".join([encode(item) for item in value])
    if kind is int:
        return "%d" % value
    return {None: "null", True: "true", False: "false"}[value]


_ESCAPES = [("\\", "\\\\"), ('"', '\\"')] + [
    (chr(code), "\\u%04x" % code) for code in range(32)]
_UNESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f",
              "n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"true": True, "false": False, "null": None}


def _value(text, at, depth):
    at = _skip(text, at)
    first = text[at]
    if first == '"':
        return _string(text, at + 1)
    if first in "[{":
        if depth == 0:
            raise ValueError("nested too deep at %d" % at)
        return _container(text, at + 1, depth - 1, "]" if first == "[" else "}")
    end = at
    while text[end:end + 1].isalnum() or text[end:end + 1] in ("-", "+", "."):
        end += 1
    word = text[at:end]
    if word in _WORDS:
        return _WORDS[word], end
    # Before 3.11 the int() of a long text takes quadratic time.
    if len(word) > 400 or word.strip("+-.0123456789eE"):
        raise ValueError("no value at %d" % at)
    return (float if word.strip("-0123456789") else int)(word), end


def _container(text, at, depth, closing):
    items = []
    at = _skip(text, at)
    while text[at] != closing:
        if items:
            at = _expect(text, at, ",")
        if closing == "}":
            key, at = _string(text, _expect(text, at, '"'))
            at = _expect(text, at, ":")
        item, at = _value(text, at, depth)
        items.append((key, item) if closing == "}" else item)
        at = _skip(text, at)
    return (dict(items) if closing == "}" else items), at + 1


def _string(text, at):
    pieces = []
    quote = -1
    wide = False
    while True:
        if quote < at:
            quote = text.index('"', at)
        slash = text.find("\\", at, quote)
        if slash < 0:
            break
        pieces.append(text[at:slash])
        letter = text[slash + 1]
        at = slash + 2
        if letter == "u":
            wide = True
            pieces.append(chr(int(text[at:at + 4], 16)))
            at += 4
        elif letter in _UNESCAPED:
            pieces.append(_UNESCAPED[letter])
        else:
            raise ValueError("unknown escape at %d" % slash)
    value = "".join(pieces) + text[at:quote]
    if wide:  # surrogates: join the pairs, replace the lone ones
        value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value, quote + 1


def _expect(text, at, sign):
    at = _skip(text, at)
    if text[at] != sign:
        raise ValueError("%s missing at %d" % (sign, at))
    return at + 1


def _skip(text, at):
    while text[at:at + 1] in (" ", "\t", "\n", "\r"):
        at += 1
    return at
