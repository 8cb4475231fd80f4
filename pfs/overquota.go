package pfs

import (
	"fmt"
	"strings"
)

// OverQuota is the cause of a Quota error: the limit that was met, and how much of it is left.
type OverQuota struct {
	Dir   string // name of the directory that is limited, without those above; may be empty
	Files bool   // it limits files and directories, not bytes
	Limit int64  // never 0
	Used  int64
	Need  int64 // what was asked for; 0 if the store does not say

	// Staged is what unfinished uploads hold of Used; less than 0 where they count, and the store
	// does not say how much that is.
	Staged int64
}

// Error tells the limit, what is left of it, and the way out.
func (q *OverQuota) Error() string {
	amount, limit := size, size(q.Limit)
	if q.Files {
		amount = func(n int64) string { return fmt.Sprint(n) }
		limit = fmt.Sprint(q.Limit, " files and directories")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s of the limit of %s", amount(max(0, q.Limit-q.Used)), limit)
	if q.Dir != "" {
		fmt.Fprintf(&b, " for %q", q.Dir)
	}
	b.WriteString(" are left")
	if q.Need > 0 {
		fmt.Fprintf(&b, ", and this asks for %s", amount(q.Need))
	}
	if q.Staged > 0 {
		fmt.Fprintf(&b, "; unfinished uploads hold %s", amount(q.Staged))
	}
	if b.WriteString(": remove files or "); q.Staged != 0 {
		b.WriteString("unfinished uploads, or ")
	}
	b.WriteString("ask for a larger quota")
	return b.String()
}

// size writes n bytes as a person reads them, and as an exact number.
func size(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	v, i := float64(n)/1024, 0
	for v >= 1024 && i < len(units)-1 {
		v /= 1024
		i++
	}
	return fmt.Sprintf("%.1f %ciB (%d bytes)", v, units[i], n)
}
