package web

import (
	"fmt"
	"strings"
	"unicode"
)

// zipName returns the name of an entry in an archive for the name of a file: one that stays in the directory where
// a program unpacks it, on any system. Bytes that could lead out, or that a system refuses, become %XX. Different
// names stay different, because a "%" before two hexadecimal digits is replaced, too.
func zipName(name string) string {
	var b strings.Builder
	last := len(name) - 1
	reserved := isDevice(name)
	for i, r := range name {
		switch {
		case r < ' ' || r == 0x7f || strings.ContainsRune(`\/:*?"<>|`, r),
			(r == '.' || r == ' ') && i == last,
			i == 0 && reserved,
			r == '%' && i+2 <= last && isHex(name[i+1]) && isHex(name[i+2]),
			r != ' ' && !unicode.IsPrint(r):
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

// isDevice reports whether Windows takes name for a device.
func isDevice(name string) bool {
	base, _, _ := strings.Cut(strings.ToUpper(name), ".")
	base = strings.TrimRight(base, " ")
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	return len(base) >= 4 && (strings.HasPrefix(base, "COM") || strings.HasPrefix(base, "LPT")) &&
		strings.ContainsRune("123456789¹²³", []rune(base)[3]) && len([]rune(base)) == 4
}
