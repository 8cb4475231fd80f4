package job

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxName is the largest length of a job's name, which is also the value of a label in Kubernetes.
const maxName = 63

// CheckName explains why name cannot name a job; "" if it can.
func CheckName(name string) string {
	switch {
	case name == "":
		return "a job needs a name"
	case len(name) > maxName:
		return fmt.Sprintf("%d characters, and at most %d are allowed", len(name), maxName)
	}
	for _, r := range name {
		if !isAlnum(r) && r != '-' && r != '.' {
			return fmt.Sprintf("%q is not allowed: a name has letters, digits, '-' and '.'", r)
		}
	}
	if !isAlnum(rune(name[0])) || !isAlnum(rune(name[len(name)-1])) {
		return "a name begins and ends with a letter or a digit"
	}
	return ""
}

func isAlnum(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// Slug returns the lower-case letters and digits of s, with '-' for other characters between them, in at most
// limit bytes. It begins with a letter, as the names of Kubernetes services do.
func Slug(s string, limit int) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(s) {
		switch {
		case r < 128 && isAlnum(r):
			if b.Len() == 0 && r <= '9' {
				b.WriteByte('j')
			}
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(r)
			gap = false
		default:
			gap = true
		}
	}
	if b.Len() == 0 {
		b.WriteByte('j')
	}
	return strings.TrimRight(b.String()[:min(b.Len(), limit)], "-")
}

// The largest lengths of slugs: an engine adds to the names of objects, which Kubernetes limits to 52
// bytes for a StatefulSet, and to those of namespaces, which it limits to 63.
const (
	objectSlug    = 24
	namespaceSlug = 40
)

// ObjectName returns SLUG-HASH, which names a job where only lower-case letters, digits and '-' are
// allowed. The hash keeps names apart whose slugs are equal.
func ObjectName(name string) string { return Slug(name, objectSlug) + "-" + hash(name) }

// Namespace returns the name of the namespace of a user: pfs-SLUG-HASH.
func Namespace(user string) string { return "pfs-" + Slug(user, namespaceSlug) + "-" + hash(user) }

// hash returns 8 hex digits of the SHA-256 of s.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}
