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

func TestCheckNewName(t *testing.T) {
	tests := []struct {
		name string
		ok   bool
	}{
		{"yanxu05@baidu.com", true},
		{"first.last@corp", true},
		{"first+tag@corp", true},
		{"A_b-c", true},
		{"0day", true},
		{strings.Repeat("a", 64), true},
		{strings.Repeat("a", 65), false},
		{"\u0430lice", false},
		{"王小明", false},
		{"root", false},
		{"Root", false},
		{"hdfs", false},
		{"-rf", false},
		{"*", false},
		{"a*", false},
		{"$(id)", false},
		{"`id`", false},
		{"~bob", false},
		{"a b", false},
		{"a\\b", false},
		{"_a", false},
		{"a.", false},
		{"a-", false},
		{"0", false},
		{"20000", false},
	}
	for _, tt := range tests {
		if reason := checkNewName(tt.name); (reason == "") != tt.ok {
			t.Errorf("checkNewName(%q) = %q, want ok %v", tt.name, reason, tt.ok)
		}
	}
}

func TestSkeleton(t *testing.T) {
	for a, b := range map[string]string{
		"alice": "\u0430lice", "Alice": "a1ice", "IO": "l0", "modem": "rnodern", "bob": "Ｂｏｂ", "BOB": "\u0412\u041e\u0412", "nikos": "niko\u0455",
	} {
		if skeleton(a) != skeleton(b) {
			t.Errorf("skeleton(%q) = %q, but skeleton(%q) = %q", a, skeleton(a), b, skeleton(b))
		}
	}
	for a, b := range map[string]string{"ann": "anna", "alice": "alise", "user1": "user2", "ann.b": "ann-b"} {
		if skeleton(a) == skeleton(b) {
			t.Errorf("skeleton(%q) = skeleton(%q)", a, b)
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
		{strings.Repeat("a", maxNewName), strings.Repeat("a", maxNewName)},
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
