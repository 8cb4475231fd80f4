package unixmode

import (
	"io/fs"
	"testing"
)

// Every Unix mode survives the round trip, with its Unix number.
func TestModes(t *testing.T) {
	for _, tt := range []struct {
		mode fs.FileMode
		bits uint32
	}{
		{0o644, 0o100644},
		{fs.ModeDir | 0o755, 0o040755},
		{fs.ModeSymlink | 0o777, 0o120777},
		{fs.ModeNamedPipe | 0o600, 0o010600},
		{fs.ModeSocket | 0o600, 0o140600},
		{fs.ModeDevice | 0o660, 0o060660},
		{fs.ModeDevice | fs.ModeCharDevice | 0o666, 0o020666},
		{fs.ModeSetuid | 0o755, 0o104755},
		{fs.ModeDir | fs.ModeSetgid | 0o770, 0o042770},
		{fs.ModeDir | fs.ModeSticky | 0o777, 0o041777},
	} {
		if got := Bits(tt.mode); got != tt.bits {
			t.Errorf("%v has the bits %o, want %o", tt.mode, got, tt.bits)
		}
		if got := FileMode(tt.bits); got != tt.mode || !HasType(tt.bits) {
			t.Errorf("%o is %v, want %v", tt.bits, got, tt.mode)
		}
		if got := Permissions(tt.mode); got != tt.bits&0o7777 {
			t.Errorf("%v has the permissions %o, want %o", tt.mode, got, tt.bits&0o7777)
		}
	}
}

// Types that Unix does not know are irregular, not regular files.
func TestNoType(t *testing.T) {
	for _, bits := range []uint32{0o644, 0o150644} {
		if got := FileMode(bits); got != fs.ModeIrregular|0o644 {
			t.Errorf("%o is %v", bits, got)
		}
	}
	if got := Bits(fs.ModeIrregular | 0o600); got != 0o600 || HasType(got) {
		t.Errorf("an irregular file has the bits %o", got)
	}
}
