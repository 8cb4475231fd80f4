package pfstest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// WantKind fails the test unless err is of the Kind, by every way to check it.
func WantKind(t testing.TB, err error, kind pfs.Kind) {
	t.Helper()
	var e *pfs.Error
	switch {
	case err == nil:
		t.Fatalf("no error, want %q", kind)
	case !errors.As(err, &e):
		t.Fatalf("error %T %v is not a *pfs.Error", err, err)
	case pfs.KindOf(err) != kind || !errors.Is(err, kind):
		t.Fatalf("error %q is of kind %q, want %q", e.Detail(), pfs.KindOf(err), kind)
	case e.Op == "":
		t.Fatalf("error %q has no Op", err)
	}
}

// want fails unless err is of the Kind and its Path is one of about.
func (e *env) want(err error, kind pfs.Kind, about ...pfs.Path) {
	e.Helper()
	WantKind(e, err, kind)
	var pe *pfs.Error
	if errors.As(err, &pe); !slices.Contains(about, pe.Path) {
		e.Fatalf("error %q is about %q, want it about one of %q", pe.Detail(), pe.Path, about)
	}
}

// wantOneOf is want for a choice of Kinds.
func (e *env) wantOneOf(err error, kinds []pfs.Kind, about ...pfs.Path) {
	e.Helper()
	if err == nil || !slices.Contains(kinds, pfs.KindOf(err)) {
		e.Fatalf("error %v, want one of %q", err, kinds)
	}
	e.want(err, pfs.KindOf(err), about...)
}

// errOf returns the error of a call that also returns a value.
func errOf[T any](_ T, err error) error { return err }

// ok fails if err is not nil.
func (e *env) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(detail(err))
	}
}

// detail returns the text for operators.
func detail(err error) string {
	var pe *pfs.Error
	if errors.As(err, &pe) {
		return pe.Detail()
	}
	return err.Error()
}

// sameInfo fails unless got equals want in the fields that users see. Other checks cover its ID and
// the times of its last access and change.
func (e *env) sameInfo(what string, got, want pfs.Info) {
	e.Helper()
	if !got.ModTime.Equal(want.ModTime) {
		e.Fatalf("%s has time %v, want %v", what, got.ModTime, want.ModTime)
	}
	got.ModTime, got.ChangeTime, got.AccessTime, got.ID = want.ModTime, want.ChangeTime, want.AccessTime, want.ID
	if got != want {
		e.Fatalf("%s is\n%+v, want\n%+v", what, got, want)
	}
}

// sameTime fails unless got is want to the precision of the store.
func (e *env) sameTime(what string, got, want time.Time) {
	e.Helper()
	if want = want.Truncate(e.opts.Times); !got.Equal(want) {
		e.Fatalf("%s is %v, want %v", what, got, want)
	}
}

// upwards returns name and the directories above it except the root: the paths that an error about
// a parent of name may have.
func upwards(name pfs.Path) []pfs.Path {
	var ps []pfs.Path
	for ; name != pfs.Root; name = name.Parent() {
		ps = append(ps, name)
	}
	return ps
}

// brief describes content in a failure.
func brief(p []byte) string {
	if len(p) > 32 {
		return fmt.Sprintf("%d bytes %x...", len(p), p[:32])
	}
	return fmt.Sprintf("%d bytes %x", len(p), p)
}
