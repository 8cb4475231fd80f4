package pfs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

func TestKindsAreTotal(t *testing.T) {
	texts := map[string]pfs.Kind{}
	for i, k := range pfs.Kinds() {
		if int(k) != i {
			t.Errorf("Kinds()[%d] = %d", i, k)
		}
		text := k.Error()
		if other, ok := texts[text]; ok || text == "" {
			t.Errorf("kinds %d and %d have both the text %q", other, k, text)
		}
		texts[text] = k
		err := fmt.Errorf("wrapped: %w", pfs.E("test.Op", "/p", k, nil))
		if pfs.KindOf(err) != k || pfs.KindOf(k) != k {
			t.Errorf("KindOf does not find %q", k)
		}
		for _, other := range pfs.Kinds() {
			if errors.Is(err, other) != (k == other) {
				t.Errorf("an error of kind %q is %q: %v", k, other, k != other)
			}
		}
	}
	if got := pfs.Kind(255).Error(); got != pfs.Other.Error() {
		t.Errorf("a Kind beyond the list reads %q", got)
	}
}

// TestKindNumbers checks that the numbers, which cross the wire, do not change.
func TestKindNumbers(t *testing.T) {
	for want, k := range []pfs.Kind{
		pfs.Other, pfs.Invalid, pfs.NotExist, pfs.Exist, pfs.Permission, pfs.Unauthenticated, pfs.IsDir,
		pfs.NotDir, pfs.NotEmpty, pfs.Symlink, pfs.CrossStore, pfs.Unsupported, pfs.ReadOnly, pfs.NoSpace,
		pfs.Quota, pfs.Conflict, pfs.Unavailable, pfs.Limit, pfs.Integrity, pfs.Canceled, pfs.Closed,
	} {
		if int(k) != want {
			t.Errorf("%q has the number %d, want %d", k, k, want)
		}
	}
}

func TestErrorIsSentinel(t *testing.T) {
	sentinels := []error{fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid, fs.ErrClosed, errors.ErrUnsupported}
	want := map[pfs.Kind]error{
		pfs.NotExist: fs.ErrNotExist, pfs.Exist: fs.ErrExist, pfs.NotEmpty: fs.ErrExist,
		pfs.Permission: fs.ErrPermission, pfs.ReadOnly: fs.ErrPermission, pfs.Invalid: fs.ErrInvalid,
		pfs.Closed: fs.ErrClosed, pfs.Unsupported: errors.ErrUnsupported,
	}
	for _, k := range pfs.Kinds() {
		err := fmt.Errorf("wrapped: %w", pfs.E("test.Op", "", k, nil))
		for _, s := range sentinels {
			if got := errors.Is(err, s); got != (want[k] == s) {
				t.Errorf("an error of kind %q is %v: %v", k, s, got)
			}
		}
	}
}

func TestKindOf(t *testing.T) {
	tests := []struct {
		err  error
		want pfs.Kind
	}{
		{io.EOF, pfs.Other},
		{pfs.Quota, pfs.Quota},
		{fmt.Errorf("x: %w", pfs.Limit), pfs.Limit},
		{context.Canceled, pfs.Canceled},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), pfs.Canceled},
		{&fs.PathError{Op: "open", Err: fs.ErrNotExist}, pfs.NotExist},
		{fs.ErrExist, pfs.Exist},
		{fs.ErrPermission, pfs.Permission},
		{fs.ErrInvalid, pfs.Invalid},
		{fs.ErrClosed, pfs.Closed},
		{errors.ErrUnsupported, pfs.Unsupported},
		{pfs.E("a.B", "", pfs.Unavailable, pfs.E("c.D", "", pfs.NotExist, nil)), pfs.Unavailable},
		{pfs.E("a.B", "", pfs.Other, fs.ErrNotExist), pfs.Other},
	}
	for _, tt := range tests {
		if got := pfs.KindOf(tt.err); got != tt.want {
			t.Errorf("KindOf(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

func TestKnown(t *testing.T) {
	given := pfs.E("a.B", "/given", pfs.Other, nil)
	bad := pfs.CheckPath("a.B", "//")
	for _, tt := range []struct {
		err  error
		want string // the detail; "" if the Kind is unknown
	}{
		{given, "a.B /given: failed"},
		{fmt.Errorf("wrapped: %w", given), "a.B /given: failed"},
		{pfs.Errorf("a.B", "", pfs.Quota, "cause"), "c.D /p: quota exceeded: cause"},
		{bad, pfs.Detail(bad)},
		{pfs.Conflict, "c.D /p: changed in the meantime"},
		{fs.ErrNotExist, ""},
		{context.Canceled, ""},
	} {
		got, ok := pfs.Known("c.D", "/p", tt.err)
		if ok != (tt.want != "") || ok && pfs.Detail(got) != tt.want {
			t.Errorf("Known(%v) = %v, %v, want %q", tt.err, got, ok, tt.want)
		}
	}
	if got, ok := pfs.Known("c.D", "/p", nil); got != nil || !ok {
		t.Errorf("Known(nil) = %v, %v", got, ok)
	}
}

func TestErrorText(t *testing.T) {
	tests := []struct {
		err          error
		text, detail string
	}{
		{pfs.E("a.B", "/p", pfs.NotExist, nil), "/p: no such file or directory", "a.B /p: no such file or directory"},
		{pfs.E("a.B", "", pfs.IsDir, nil), "is a directory", "a.B is a directory"},
		{pfs.Errorf("a.B", "/p", pfs.Invalid, "size %d", -1), "/p: invalid argument: size -1", "a.B /p: invalid argument: size -1"},
		{pfs.E("a.B", "/p", pfs.Closed, pfs.Closed), "/p: already closed", "a.B /p: already closed"},
		{pfs.E("a.B", "/p", pfs.Quota, syscall.EDQUOT), "/p: quota exceeded", "a.B /p: quota exceeded"},
		{pfs.E("a.B", "/p", pfs.NotExist, fs.ErrNotExist), "/p: no such file or directory", "a.B /p: no such file or directory"},
		{pfs.E("a.B", "/p", pfs.NoSpace, syscall.EFBIG), "/p: no space left: file too large", "a.B /p: no space left: file too large"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.text {
			t.Errorf("Error() = %q, want %q", got, tt.text)
		}
		var e *pfs.Error
		if errors.As(tt.err, &e); e.Detail() != tt.detail {
			t.Errorf("Detail() = %q, want %q", e.Detail(), tt.detail)
		}
	}
}

func TestErrorUnwraps(t *testing.T) {
	cause := errors.New("cause")
	err := pfs.Errorf("a.B", "/p", pfs.Other, "while it rained: %w", cause)
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "while it rained: cause") {
		t.Errorf("%v does not wrap its cause", err)
	}
}

func TestTemporary(t *testing.T) {
	for _, k := range pfs.Kinds() {
		if got, want := k.Temporary(), k == pfs.Unavailable || k == pfs.Limit; got != want {
			t.Errorf("%q: Temporary = %v", k, got)
		}
	}
}

func TestCheckContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if err := pfs.CheckContext(ctx, "a.B", "/p"); err != nil {
		t.Errorf("CheckContext = %v", err)
	}
	cancel()
	err := pfs.CheckContext(ctx, "a.B", "/p")
	if !errors.Is(err, pfs.Canceled) || !errors.Is(err, context.Canceled) {
		t.Errorf("CheckContext = %v", err)
	}
}
