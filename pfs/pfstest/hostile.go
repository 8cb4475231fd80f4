package pfstest

import "strings"

// HostilePaths are paths that attack gateways: none of them may lead out of what a user may see, whether the gateway
// refuses it or takes it for an odd name. A test puts each into its protocol as it is, and also escaped where the protocol
// unescapes.
var HostilePaths = []string{
	"..", "../", "../..", "/..", "/../", "/../../../../../../etc/passwd", "../../../../etc/shadow",
	"/pfs/..", "/pfs/../../etc", "/pfs/dc/..", "/pfs/dc/home/..", "/pfs/dc/home/./../public",
	"/pfs/dc/home/alice@example.org/../bob", "/pfs/dc/home/alice@example.org/../bob/secret", "/pfs/dc/home/alice@example.org/./../bob/secret",
	"/pfs/dc/home/alice@example.org//..//bob//secret", "/pfs/dc/home/alice@example.org/x/../../bob/secret",
	"/pfs/dc/home/bob/secret", "/pfs/dc/user/bob/secret", "/pfs/dc/home//bob/secret", "//pfs/dc/home/bob/secret", "/pfs//dc/home/bob/secret",
	"%2e%2e/bob/secret", "%2e%2e%2fbob%2fsecret", "/pfs/dc/home/alice@example.org/%2e%2e/bob/secret", "/pfs/dc/home/alice@example.org%2f..%2fbob%2fsecret",
	"/pfs/dc/home/alice@example.org/..%2fbob/secret", "%252e%252e%252fbob%252fsecret", "/%2e%2e/%2e%2e/etc/passwd",
	"..\\bob\\secret", "/pfs/dc/home/alice@example.org/..\\bob\\secret", "\\..\\..\\etc\\passwd", "C:\\Windows", "..%5cbob%5csecret",
	"/pfs/dc/home/bob\x00/../alice@example.org", "/pfs/dc/home/alice@example.org/\x00", "secret\x00.txt", "%00",
	"/pfs/dc/home/alice@example.org/\xc0\xae\xc0\xae/bob/secret", "/pfs/dc/home/alice@example.org/..\xc0\xafbob\xc0\xafsecret", "%c0%ae%c0%ae/bob/secret",
	"\xe0\x80\xae\xe0\x80\xae/bob", "\xff\xfe", "/pfs/dc/home/b\u200bob/secret", "/pfs/dc/home/ＢＯＢ/secret", "/pfs/dc/home/BOB/secret", "/pfs/dc/home/bob./secret", "/pfs/dc/home/bob /secret",
	"/pfs/dc/home/.snap/bob/secret", "/pfs/dc/home/.snapshot/x/bob/secret", "/.reserved/raw/home/bob/secret", "/home/bob/secret",
	"/dc/home/bob/secret", "home/bob/secret", "~bob/secret", "~/../bob/secret", "/proc/self/environ", "/dev/mem", "file:///etc/passwd",
	"/pfs/dc/home/alice@example.org/escape/secret", "/pfs/dc/home/alice@example.org/escape-up/bob/secret",
	"/pfs/dc/home/alice@example.org/" + strings.Repeat("n", 256), "/" + strings.Repeat("d/", 2100), "/pfs/dc/home/alice@example.org" + strings.Repeat("/..", 1000) + "/pfs/dc/home/bob/secret",
	strings.Repeat("../", 1300) + "bob/secret", strings.Repeat("/", 4096) + "pfs/dc/home/bob/secret",
	"/pfs/dc/home/bob/secret?x", "/pfs/dc/home/bob/secret#x", "/pfs/dc/home/bob/secret;x", "/pfs/dc/home/bob/secret/.", "/pfs/dc/home/bob/secret/", "/pfs/dc/home/bob/secret/..",
	"-rf", "*", "$(id)", "`id`", "; rm -rf /", "\n", "\r\nX: y", "<script>", "'\"",
}
