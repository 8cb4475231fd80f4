package pfs

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"
)

const (
	// MaxName is the longest name of one file or directory, in bytes.
	MaxName = 255
	// MaxPath is the longest Path, in bytes.
	MaxPath = 4096
)

// Path is a clean absolute name: "/" or "/a/b". Make one with ParsePath or CleanPath; the zero
// value means "no path" and is not a valid argument.
type Path string

// Root is the path of the top directory.
const Root Path = "/"

// ParsePath checks that s is a Path in canonical form and returns it. The package documentation
// lists what it refuses, under Paths; the error names the element.
func ParsePath(s string) (Path, error) {
	if reason := badPath(s); reason != "" {
		return "", Errorf("pfs.ParsePath", "", Invalid, "path %s: %s", quoteShort(s), reason)
	}
	return Path(s), nil
}

// CleanPath converts a path that a person typed: it drops repeated slashes, "." elements and a
// trailing slash. It refuses a missing leading slash. It also refuses "..", whose meaning in a tree
// with links is not the apparent one.
func CleanPath(s string) (Path, error) {
	if !strings.HasPrefix(s, "/") {
		return "", Errorf("pfs.CleanPath", "", Invalid, "path %s does not begin with \"/\"", quoteShort(s))
	}
	var b strings.Builder
	for name := range strings.SplitSeq(s, "/") {
		if name != "" && name != "." {
			b.WriteByte('/')
			b.WriteString(name)
		}
	}
	if b.Len() == 0 {
		return Root, nil
	}
	return ParsePath(b.String())
}

// CheckPath answers Invalid unless ParsePath accepts name. Implementations call it on every path
// that they are given.
func CheckPath(op string, name Path) error {
	if reason := badPath(string(name)); reason != "" {
		return Errorf(op, "", Invalid, "path %s: %s", quoteShort(string(name)), reason)
	}
	return nil
}

// CheckName explains why name cannot be an element of a Path; "" if it can.
func CheckName(name string) string {
	switch {
	case name == "":
		return "empty name"
	case name == "." || name == "..":
		return fmt.Sprintf("%q is not allowed", name)
	case len(name) > MaxName:
		return fmt.Sprintf("name of %d bytes, the limit is %d", len(name), MaxName)
	case strings.IndexByte(name, 0) >= 0:
		return "NUL in a name"
	case strings.IndexByte(name, '/') >= 0:
		return "slash in a name"
	case ReservedName(name):
		return fmt.Sprintf("the name %q is reserved for what stores keep of their own", name)
	case !utf8.ValidString(name):
		return "not UTF-8"
	}
	return ""
}

func badPath(s string) string {
	switch {
	case s == "":
		return "empty"
	case s[0] != '/':
		return "does not begin with \"/\""
	case len(s) > MaxPath:
		return fmt.Sprintf("%d bytes, the limit is %d", len(s), MaxPath)
	case s == "/":
		return ""
	}
	for name := range strings.SplitSeq(s[1:], "/") {
		if reason := CheckName(name); reason != "" {
			return reason
		}
	}
	return ""
}

// quoteShort quotes s for a message, shortened so that a hostile path cannot flood a terminal or
// a log.
func quoteShort(s string) string {
	const maxQuoted = 200
	if len(s) > maxQuoted {
		return fmt.Sprintf("%q...", s[:maxQuoted])
	}
	return fmt.Sprintf("%q", s)
}

// Base returns the last element, "/" for Root.
func (p Path) Base() string {
	if p == Root {
		return "/"
	}
	return string(p[strings.LastIndexByte(string(p), '/')+1:])
}

// Parent returns the path without its last element; Root's is Root.
func (p Path) Parent() Path {
	i := strings.LastIndexByte(string(p), '/')
	if i <= 0 {
		return Root
	}
	return p[:i]
}

// Join returns p with one more element, which it does not check.
func (p Path) Join(name string) Path {
	if p == Root {
		return Root + Path(name)
	}
	return p + "/" + Path(name)
}

// Names yields the elements from the top.
func (p Path) Names() iter.Seq[string] {
	if p == Root || p == "" {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(string(p[1:]), "/")
}

// Within reports whether p is dir or below it.
func (p Path) Within(dir Path) bool {
	if dir == Root {
		return true
	}
	return strings.HasPrefix(string(p), string(dir)) && (len(p) == len(dir) || p[len(dir)] == '/')
}

// Rebase returns p with to in place of the leading from. p must be within from.
func (p Path) Rebase(from, to Path) Path {
	rest := strings.TrimPrefix(string(p), strings.TrimSuffix(string(from), "/"))
	if rest == "" || rest == "/" {
		return to
	}
	return Path(strings.TrimSuffix(string(to), "/") + rest)
}

// NewID returns a random identifier for an upload.
func NewID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// ValidID reports whether id can name an upload: 8 to 64 characters of 0-9 and a-z. The ID
// becomes part of file names, so nothing else is allowed.
func ValidID(id string) bool {
	return len(id) >= 8 && len(id) <= 64 && consistsOf(id, digits36)
}
