package pfs

import (
	"path"
	"strings"
)

// Limits of the expansion of braces.
const (
	maxBraces       = 64
	maxAlternatives = 1024
)

// globElem is one element of a pattern.
type globElem struct {
	text string
	kind globKind
	dot  bool // text begins with a dot, so it matches names that do
}

type globKind uint8

const (
	globLiteral globKind = iota // text is a name
	globMatch                   // text is a pattern of package path
	globDirs                    // "**"
)

// compile parses the alternatives of pattern.
func (g *globber) compile(pattern string) error {
	if len(pattern) > MaxPath || strings.Count(pattern, "{") > maxBraces {
		return badPattern(pattern, Limit, "it may have %d bytes and %d braces", MaxPath, maxBraces)
	}
	var alts []string
	if err := expandBraces(pattern, "", pattern, &alts); err != nil {
		return err
	}
	for _, alt := range alts {
		elems, err := globElems(pattern, alt)
		if err != nil {
			return err
		}
		g.alts = append(g.alts, elems)
	}
	return nil
}

func badPattern(pattern string, kind Kind, format string, args ...any) error {
	return Errorf("pfs.Glob", "", kind, "pattern %s: "+format, append([]any{quoteShort(pattern)}, args...)...)
}

// errCutShort is the error for what globUnit and splitBraces refuse.
func errCutShort(pattern string) error {
	return badPattern(pattern, Invalid, `a "[", "{" or "\" is not complete: put a "\" before it if it is part of a name`)
}

// globUnit returns the length of the first character of s, which is not empty, including an
// escape before it or the whole class that it opens; 0 if it is incomplete.
func globUnit(s string) int {
	switch s[0] {
	case '\\':
		if len(s) > 1 {
			return 2
		}
		return 0
	case '[':
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case ']':
				return i + 1
			}
		}
		return 0
	}
	return 1
}

// expandBraces appends the expansions of done+rest to out. done has no braces.
func expandBraces(pattern, done, rest string, out *[]string) error {
	for i := 0; i < len(rest); {
		if rest[i] == '{' {
			alts, tail, ok := splitBraces(rest[i:])
			if !ok {
				return errCutShort(pattern)
			}
			for _, alt := range alts {
				if err := expandBraces(pattern, done+rest[:i], alt+tail, out); err != nil {
					return err
				}
			}
			return nil
		}
		n := globUnit(rest[i:])
		if n == 0 {
			return errCutShort(pattern)
		}
		i += n
	}
	if len(*out) == maxAlternatives {
		return badPattern(pattern, Limit, "its braces stand for more than %d alternatives", maxAlternatives)
	}
	*out = append(*out, done+rest)
	return nil
}

// splitBraces splits s, which begins with a brace, into its alternatives and what follows them.
func splitBraces(s string) (alts []string, tail string, ok bool) {
	depth, start := 0, 1
	for i := 0; i < len(s); {
		n := globUnit(s[i:])
		if n == 0 {
			return nil, "", false
		}
		switch {
		case s[i] == '{':
			depth++
		case s[i] == ',' && depth == 1:
			alts, start = append(alts, s[start:i]), i+1
		case s[i] == '}':
			if depth--; depth == 0 {
				return append(alts, s[start:i]), s[i+1:], true
			}
		}
		i += n
	}
	return nil, "", false
}

// globElems parses the elements of one alternative.
func globElems(pattern, alt string) (elems []globElem, err error) {
	rest, ok := strings.CutPrefix(alt, "/")
	if !ok {
		return nil, badPattern(pattern, Invalid, `it does not begin with "/"`)
	}
	for text := range strings.SplitSeq(rest, "/") {
		if text == "" || text == "." {
			continue
		}
		e, err := newGlobElem(pattern, text)
		if err != nil {
			return nil, err
		}
		if e.kind == globDirs && len(elems) > 0 && elems[len(elems)-1].kind == globDirs {
			continue
		}
		elems = append(elems, e)
	}
	if n := len(elems); n > 0 && elems[n-1].kind == globDirs {
		elems = append(elems, globElem{text: "*", kind: globMatch})
	}
	return elems, nil
}

func newGlobElem(pattern, text string) (globElem, error) {
	if text == "**" {
		return globElem{kind: globDirs}, nil
	}
	magic := HasMagic(text)
	var b strings.Builder
	for i := 0; i < len(text); {
		n := globUnit(text[i:])
		if n == 0 {
			return globElem{}, errCutShort(pattern)
		}
		switch unit := text[i : i+n]; {
		case strings.HasPrefix(unit, "[!"):
			b.WriteString("[^" + unit[2:])
		case !magic:
			b.WriteByte(unit[n-1])
		default:
			b.WriteString(unit)
		}
		i += n
	}
	e := globElem{text: b.String()}
	if !magic {
		if reason := CheckName(e.text); reason != "" {
			return globElem{}, badPattern(pattern, Invalid, "%s", reason)
		}
		return e, nil
	}
	if _, err := path.Match(e.text, ""); err != nil {
		return globElem{}, badPattern(pattern, Invalid, "the class in %q is malformed", text)
	}
	e.kind, e.dot = globMatch, strings.HasPrefix(strings.TrimPrefix(text, `\`), ".")
	return e, nil
}
