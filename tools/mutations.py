"""Small changes of C code, of the kinds that people make by mistake: what tools/mutants.py tries out.

A change is found among the tokens of a file. Comments, texts, characters and lines of the preprocessor are no tokens,
so that nothing in them is ever changed. Neither are the sizes of arrays in declarations (room to spare is no
mistake that a test can see) and attributes. Operators are told from pointers and signs by the blanks that clang-format
puts around operators alone.

    relation    <  <=  >  >=  ==  !=  becomes a neighbour of it
    arithmetic  + and -, * and /, ++ and --, += and -= change places
    shift       << and >> change places
    bits        & and |, ^ and | change places
    logic       && and || change places
    constant    a number becomes one more or one less; true and false change places
    negation    !, ~ or - before a value is dropped; the condition of an if is negated
    extremum    min and max change places; at_most(a, b) becomes b
    choice      the two values of ?: change places
    vector      and/or, add/sub, left/right, greater/equal, signed/unsigned in the names of intrinsics
    statement   an assignment or a call that is a statement is dropped
"""
import collections
import re

KINDS = ("relation", "arithmetic", "shift", "bits", "logic", "constant", "negation", "extremum",
         "choice", "vector", "statement")

TOKEN = re.compile(r"""
    (?P<skip> /\*.*?\*/ | //[^\n]* | ^[ \t]*\#(?:\\\n|[^\n])* | \s+ )
  | (?P<text> "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' )
  | (?P<number> 0[xX][0-9a-fA-F]+[uUlL]* | \d+\.\d*(?:[eE][-+]?\d+)?[fF]? | \d+[uUlL]* )
  | (?P<name> [A-Za-z_]\w* )
  | (?P<mark> \.\.\. | <<= | >>= | -> | \+\+ | -- | << | >> | <= | >= | == | != | && | \|\|
            | [-+*/%&|^]= | . )
""", re.X | re.S | re.M)

NEIGHBOURS = {"<": ("<=", ">"), "<=": ("<", ">="), ">": (">=", "<"), ">=": (">", "<="),
              "==": ("!=", ">="), "!=": ("==", ">")}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "+=": "-=", "-=": "+=", "++": "--", "--": "++"}
SHIFTS = {"<<": ">>", ">>": "<<", "<<=": ">>=", ">>=": "<<="}
BITS = {"&": "|", "|": "&", "^": "|", "&=": "|=", "|=": "&=", "^=": "|="}
LOGIC = {"&&": "||", "||": "&&"}
SWAPS = {"true": "false", "false": "true"}
EXTREMA = (("_min_", "_max_"), ("fmin", "fmax"))
VECTORS = (("_and_", "_or_"), ("_andnot_", "_and_"), ("_xor_", "_or_"), ("_add_", "_sub_"), ("_sll", "_srl"), ("cmpgt", "cmpeq"),
           ("cmpge", "cmpgt"), ("cmplt", "cmpeq"), ("packus", "packs"), ("unpacklo", "unpackhi"), ("cvtepu", "cvtepi"))
# Words behind which a name begins no statement of its own, or which begin none that can be dropped.
NO_STATEMENT = {"return", "if", "for", "while", "do", "switch", "case", "default", "goto", "typedef", "enum", "struct",
                "static", "const", "extern", "else", "sizeof", "va_end", "va_start"}
KEYWORDS = NO_STATEMENT | {"break", "continue"}

Token = collections.namedtuple("Token", "sort text start end")
# start, end: what is replaced by `new` in the file's text; function: where it stands ("" outside of functions).
Change = collections.namedtuple("Change", "kind start end new function")


def tokens_of(text):
    return [Token(m.lastgroup, m.group(), m.start(), m.end()) for m in TOKEN.finditer(text)
            if m.lastgroup != "skip"]


def partners(tokens):
    """Index of the bracket that belongs to each bracket."""
    open_ones, found = [], {}
    for i, token in enumerate(tokens):
        if token.sort == "mark" and token.text in "([{":
            open_ones.append(i)
        elif token.sort == "mark" and token.text in ")]}" and open_ones:
            j = open_ones.pop()
            found[i], found[j] = j, i
    return found


def functions_of(tokens, partner):
    """Name of the function that each token stands in, "" outside."""
    names, i = [""] * len(tokens), 0
    while i < len(tokens):
        if tokens[i].text == "{" and i in partner and i > 0:
            if tokens[i - 1].text == ")":
                at = partner.get(i - 1, i) - 1
                while tokens[at].text == ")":  # a name that a macro makes
                    at = partner[at] + 1
                for k in range(i, partner[i] + 1):
                    names[k] = tokens[at].text
            i = partner[i]
        i += 1
    return names


def is_spaced(text, token):
    return text[token.start - 1].isspace() and text[token.end:token.end + 1].isspace()


def is_value_end(token):
    return token.sort in ("number", "text") or token.text in (")", "]") or \
        (token.sort == "name" and token.text not in KEYWORDS)


def neighbour_number(word, rng):
    """One more or one less; 0 only more."""
    if word.startswith(("0x", "0X")):
        digits = re.match(r"0[xX]([0-9a-fA-F]+)([uUlL]*)", word)
        value = int(digits[1], 16) + rng.choice((1, -1) if int(digits[1], 16) else (1,))
        return f"0x{value:0{len(digits[1])}x}{digits[2]}"
    if "." in word:
        digits = word.rstrip("fF")
        return repr(float(digits) + rng.choice((1, -1) if float(digits) else (1,))) + word[len(digits):]
    digits = word.rstrip("uUlL")
    return str(int(digits) + rng.choice((1, -1) if int(digits) else (1,))) + word[len(digits):]


def declared_sizes(tokens, partner):
    """Indices of numbers in brackets behind a declared name, and inside of attributes."""
    left_out = set()
    for i, token in enumerate(tokens):
        if token.text == "[" and i > 1 and tokens[i - 1].sort == "name" and i in partner and \
                (tokens[i - 2].sort == "name" and tokens[i - 2].text not in KEYWORDS or tokens[i - 2].text == "*"):
            left_out.update(range(i, partner[i]))
        if token.text == "__attribute__" and i + 1 in partner:
            left_out.update(range(i, partner[i + 1]))
    return left_out


def replaced_word(word, pairs):
    for one, other in pairs:
        if one in word:
            return word.replace(one, other, 1)
        if other in word:
            return word.replace(other, one, 1)
    return None


def of_mark(text, tokens, i, rng):
    """(kind, new text) of an operator."""
    token, before = tokens[i], tokens[i - 1]
    if token.text in ("++", "--"):
        yield "arithmetic", ARITHMETIC[token.text]
    elif token.text in ("!", "~") or token.text == "-" and not is_spaced(text, token) and not is_value_end(before):
        yield "negation", ""
    elif is_spaced(text, token) and is_value_end(before):
        if token.text in NEIGHBOURS:
            yield "relation", rng.choice(NEIGHBOURS[token.text])
        for kind, table in (("arithmetic", ARITHMETIC), ("shift", SHIFTS), ("bits", BITS), ("logic", LOGIC)):
            if token.text in table:
                yield kind, table[token.text]


def of_name(tokens, i):
    """(kind, new text) of a word."""
    word, after = tokens[i].text, tokens[i + 1].text if i + 1 < len(tokens) else ""
    if word in SWAPS:
        yield "constant", SWAPS[word]
    if word == "at_most" and after == "(":
        yield "extremum", ""
    extremum = replaced_word(word, EXTREMA)
    if extremum:
        yield "extremum", extremum
    if word.startswith("_mm"):
        other = replaced_word(word, VECTORS)
        if other:
            yield "vector", other


def choice_end(tokens, partner, i):
    """Of the ? at i: indices of its ':' and of what stands behind its second value."""
    depth, k, colon = 0, i + 1, None
    while k < len(tokens):
        word = tokens[k].text
        if word in ("(", "[", "{"):
            k = partner[k]
        elif word == "?":
            depth += 1
        elif word == ":" and colon is None and depth == 0:
            colon, depth = k, 0
        elif word == ":" and depth > 0:
            depth -= 1
        elif word in (",", ";", ")", "]", "}"):
            return colon, k
        k += 1
    return None, None


def statement_end(tokens, partner, i):
    """Index of the ';' if a statement that can be dropped begins at i."""
    before, first, second = tokens[i - 1], tokens[i], tokens[i + 1]
    if not (before.text in (";", "{", "}", "else", "do", ")")) or first.text in NO_STATEMENT:
        return None
    if before.text == ")":
        head = tokens[partner.get(i - 1, i) - 1].text
        if head not in ("if", "for", "while"):
            return None
    jump = first.text in ("break", "continue") and second.text == ";"
    if not jump and not (first.sort == "name" and second.text in
                         ("(", "[", "=", "+=", "-=", "->", ".", "++", "--", "<<=", ">>=", "|=", "&=", "^=")
                         or first.text == "*" and second.sort == "name"):
        return None
    k = i
    while k < len(tokens) and tokens[k].text != ";":
        if tokens[k].text in ("(", "[", "{"):
            k = partner[k]
        elif tokens[k].text in ("}", ")"):
            return None
        k += 1
    return k


def changes_of(text, rng):
    """All changes of a file, one for each place and kind, chosen by rng where there are several."""
    tokens = tokens_of(text)
    partner = partners(tokens)
    names, left_out = functions_of(tokens, partner), declared_sizes(tokens, partner)
    found = []
    for i, token in enumerate(tokens):
        if i in left_out or i == 0 or i + 1 == len(tokens):
            continue
        news = []
        if token.sort == "mark":
            news = [(kind, token.start, token.end, new) for kind, new in of_mark(text, tokens, i, rng)]
        elif token.sort == "name":
            news = [(kind, token.start, token.end, new) for kind, new in of_name(tokens, i)]
        elif token.sort == "number":
            news = [("constant", token.start, token.end, neighbour_number(token.text, rng))]
        if token.text == "if" and names[i]:
            end = tokens[partner[i + 1]].end
            news.append(("negation", tokens[i + 1].start, end, f"(!{text[tokens[i + 1].start:end]})"))
        if token.text == "?":
            colon, behind = choice_end(tokens, partner, i)
            if colon:
                one = text[tokens[i + 1].start:tokens[colon - 1].end]
                other = text[tokens[colon + 1].start:tokens[behind - 1].end]
                news.append(("choice", tokens[i + 1].start, tokens[behind - 1].end, f"{other} : ({one})"))
        if names[i]:
            end = statement_end(tokens, partner, i)
            if end:
                news.append(("statement", token.start, tokens[end].end, ";"))
        found += [Change(kind, start, end, new, names[i]) for kind, start, end, new in news]
    return found
