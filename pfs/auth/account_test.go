package auth

import (
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	tests := []struct {
		name string
		ok   bool
	}{
		{"yanxu05@baidu.com", true},
		{"~bob", true},
		{"a b", true},
		{"-x", true},
		{"王小明", true},
		{strings.Repeat("a", 255), true},
		{"", false},
		{".", false},
		{"..", false},
		{"a/b", false},
		{"a:b", false},
		{"a\nb", false},
		{"a\x00b", false},
		{"a\u200bb", false},
		{"a\u202eb", false},
		{" a", false},
		{"a ", false},
		{".pfs-x", false},
		{".snap", false},
		{".snapshot", false},
		{".reserved", false},
		{".Trash", false},
		{".hidden", false},
		{"a.snap", true},
		{"\xff", false},
		{strings.Repeat("a", 256), false},
	}
	for _, tt := range tests {
		if reason := CheckName(tt.name); (reason == "") != tt.ok {
			t.Errorf("CheckName(%q) = %q, want ok %v", tt.name, reason, tt.ok)
		}
	}
}

func TestDeriveHDFSUser(t *testing.T) {
	taken := map[string]bool{"a_b.c": true, "a_b.c-2": true}
	tests := []struct{ name, want string }{
		{"yanxu05@baidu.com", "yanxu05_baidu.com"},
		{"yanxu05@other.org", "yanxu05_other.org"},
		{"bob", "bob"},
		{"a@b.c", "a_b.c-3"},
		{".hidden", "_hidden"},
		{"-x", "_x"},
		{"~", "_"},
		{"王小明", "___"},
		{strings.Repeat("a", 255), strings.Repeat("a", 239)},
	}
	for _, tt := range tests {
		got := deriveHDFSUser(tt.name, func(s string) bool { return taken[s] })
		if got != tt.want {
			t.Errorf("deriveHDFSUser(%q) = %q, want %q", tt.name, got, tt.want)
		}
		if reason := checkHDFSUser(got); reason != "" {
			t.Errorf("deriveHDFSUser(%q) = %q: %s", tt.name, got, reason)
		}
	}
}

func TestParseRole(t *testing.T) {
	for _, s := range []string{"user", "publisher", "admin"} {
		if r, err := ParseRole(s); err != nil || string(r) != s {
			t.Errorf("ParseRole(%q) = %q, %v", s, r, err)
		}
	}
	for _, s := range []string{"", "Admin", "root"} {
		if r, err := ParseRole(s); err == nil {
			t.Errorf("ParseRole(%q) = %q, want an error", s, r)
		}
	}
}
