package pfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// Kind classifies an error. The list is closed and append-only: the numbers
// cross the wire and decide exit codes. A Kind is itself an error, so that
// errors.Is(err, pfs.NotExist) works on any error of this tree.
type Kind uint8

// The Kinds. Every gateway maps them in one table, and its tests check that the table is
// complete.
const (
	Other           Kind = iota // unclassified; a bug or a failure of the machine
	Invalid                     // malformed path, option or request
	NotExist                    // no such file or directory
	Exist                       // the name exists already
	Permission                  // this identity may not do that
	Unauthenticated             // no valid identity: log in
	IsDir                       // a directory where a file is needed
	NotDir                      // a file where a directory is needed
	NotEmpty                    // the directory has entries
	Symlink                     // a link in the path, which a store does not follow
	CrossStore                  // source and target are on different stores
	Unsupported                 // the store cannot do that at all
	ReadOnly                    // nothing can be changed here
	NoSpace                     // the store is full
	Quota                       // the owner's quota is used up
	Conflict                    // changed or gone in the meantime: look again
	Unavailable                 // store or service not reachable now: try again
	Limit                       // too many requests now: wait and try again
	Integrity                   // bytes failed their check
	Canceled                    // the caller gave up, or its context's deadline passed
	Closed                      // used after Close
	Stale                       // the open handle has expired: open the file again
	NoAttr                      // no such extended attribute
	numKinds
)

var kindTexts = [numKinds]string{
	Other:           "failed",
	Invalid:         "invalid argument",
	NotExist:        "no such file or directory",
	Exist:           "already exists",
	Permission:      "permission denied",
	Unauthenticated: "not logged in",
	IsDir:           "is a directory",
	NotDir:          "not a directory",
	NotEmpty:        "directory not empty",
	Symlink:         "symbolic link not followed",
	CrossStore:      "on another store",
	Unsupported:     "not supported by this store",
	ReadOnly:        "read-only",
	NoSpace:         "no space left",
	Quota:           "quota exceeded",
	Conflict:        "changed in the meantime",
	Unavailable:     "unavailable",
	Limit:           "limit exceeded",
	Integrity:       "integrity check failed",
	Canceled:        "canceled",
	Closed:          "already closed",
	Stale:           "handle expired",
	NoAttr:          "no such attribute",
}

// Kinds returns all Kinds, for tables that must be complete.
func Kinds() []Kind {
	ks := make([]Kind, numKinds)
	for i := range ks {
		ks[i] = Kind(i)
	}
	return ks
}

// Error returns the Kind's text. A number beyond the list (from a newer peer) reads as Other.
func (k Kind) Error() string {
	if k >= numKinds {
		k = Other
	}
	return kindTexts[k]
}

// Is makes a Kind match the sentinel of package io/fs that means the same.
func (k Kind) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return k == NotExist
	case fs.ErrExist:
		return k == Exist || k == NotEmpty
	case fs.ErrPermission:
		return k == Permission || k == ReadOnly
	case fs.ErrInvalid:
		return k == Invalid
	case fs.ErrClosed:
		return k == Closed
	case errors.ErrUnsupported:
		return k == Unsupported
	}
	return false
}

// Temporary reports whether the same call may succeed later although nobody changed anything.
// Callers retry only then.
func (k Kind) Temporary() bool { return k == Unavailable || k == Limit }

// Error is the one error type of the tree.
//
// Op is "package.Name", where Name is the function or method that met the failure, exported
// ("localfs.Create") or not ("server.receive"). A program counts as a package, and its commands
// as names ("paddlectl.cp").
type Error struct {
	Op   string // "package.Name" that met the failure, for the operator
	Path Path   // what it happened to; may be empty
	Kind Kind
	Err  error // cause, in the words of the layer below; may be nil
}

// Errorf makes an Error whose cause is a formatted message; %w wraps as in fmt.Errorf. The message
// helps a user: it names the thing, the place and what to do. It does not repeat Path or the Kind's
// text.
func Errorf(op string, name Path, kind Kind, format string, args ...any) error {
	return &Error{Op: op, Path: name, Kind: kind, Err: fmt.Errorf(format, args...)}
}

// E makes an Error with the cause err, which may be nil.
func E(op string, name Path, kind Kind, err error) error {
	return &Error{Op: op, Path: name, Kind: kind, Err: err}
}

// Error reads "path: kind: cause". Users read this text, so it leaves out Op (see Detail).
func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(string(e.Path))
		b.WriteString(": ")
	}
	b.WriteString(e.Kind.Error())
	if cause := e.Cause(); cause != "" {
		b.WriteString(": ")
		b.WriteString(cause)
	}
	return b.String()
}

// Cause returns the text of the cause, "" if it says no more than the Kind.
func (e *Error) Cause() string {
	if e.Err == nil || echoes(e.Err, e.Kind) {
		return ""
	}
	return e.Err.Error()
}

// echoes reports whether a cause says no more than the Kind.
func echoes(cause error, k Kind) bool {
	switch cause {
	case fs.ErrNotExist:
		return k == NotExist
	case fs.ErrExist, syscall.EEXIST:
		return k == Exist
	case syscall.EDQUOT:
		return k == Quota
	case syscall.ENOSPC:
		return k == NoSpace
	case syscall.EROFS:
		return k == ReadOnly
	}
	return cause.Error() == k.Error()
}

// Detail reads "op path: kind: cause", for logs, followed by the stack of a panic.
func (e *Error) Detail() string {
	text := e.Op + " " + e.Error()
	var p *PanicError
	if errors.As(e.Err, &p) {
		text += "\n" + string(p.Stack)
	}
	return text
}

// Detail returns err's text for logs.
func Detail(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Detail()
	}
	return err.Error()
}

// Is reports whether target is e's Kind or an io/fs sentinel that means the same.
func (e *Error) Is(target error) bool { return target == e.Kind || e.Kind.Is(target) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf classifies an error, which must not be nil.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	var k Kind
	if errors.As(err, &k) {
		return k
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Canceled
	case errors.Is(err, fs.ErrNotExist):
		return NotExist
	case errors.Is(err, fs.ErrExist):
		return Exist
	case errors.Is(err, fs.ErrPermission):
		return Permission
	case errors.Is(err, fs.ErrInvalid):
		return Invalid
	case errors.Is(err, fs.ErrClosed):
		return Closed
	case errors.Is(err, errors.ErrUnsupported):
		return Unsupported
	}
	return Other
}

// Known converts an error that a store met at name, if err is an Error or a Kind. If ok is false,
// the store must find the Kind. nil stays nil.
//
// An Error without a path gets name, unless it is Invalid: CheckPath has already quoted the bad
// path, shortened, and the message must not repeat it in full.
func Known(op string, name Path, err error) (known error, ok bool) {
	if err == nil {
		return nil, true
	}
	var e *Error
	if errors.As(err, &e) {
		switch {
		case e.Path == "" && e.Kind != Invalid:
			return E(op, name, e.Kind, e.Err), true
		case e.Op == "":
			return E(op, e.Path, e.Kind, e.Err), true
		}
		return err, true
	}
	var k Kind
	if errors.As(err, &k) {
		return E(op, name, k, nil), true
	}
	return nil, false
}

// CheckContext answers Canceled if ctx is done. Implementations call it first, and between
// chunks.
func CheckContext(ctx context.Context, op string, name Path) error {
	if err := ctx.Err(); err != nil {
		return E(op, name, Canceled, err)
	}
	return nil
}

// OverQuota is the cause of a Quota error: the limit, and how much of it is used.
type OverQuota struct {
	Dir   string // base name of the limited directory; may be empty
	Files bool   // the limit is a number of files and directories, not of bytes
	Limit int64  // never 0
	Used  int64
	Need  int64 // what the operation adds; 0 if unknown

	// Staged is the part of Used that uploads hold. It is negative if they count but the store
	// does not report how much they hold.
	Staged int64
}

// Error states the limit, the remaining quota, and what to do.
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

// OutOfSpace is the cause of a NoSpace error of a disk.
type OutOfSpace struct {
	Disk       Path  // directory on a disk of this machine; empty for the store of a service
	Need, Free int64 // bytes; if Need <= Free, something else ran out, such as inodes
}

// Error names the full disk and its free space.
func (o *OutOfSpace) Error() string {
	where := "the store"
	if o.Disk != "" {
		where = "the local disk at " + string(o.Disk)
	}
	if o.Need <= o.Free {
		return where + " is full"
	}
	return fmt.Sprintf("%s is full: %s needed, %s free", where, size(o.Need), size(o.Free))
}

// size formats n bytes for people, followed by the exact number.
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
