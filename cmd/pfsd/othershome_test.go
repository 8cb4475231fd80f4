package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/wire"
	"golang.org/x/crypto/ssh"
)

// othersOp is an operation on a path. Its name begins with what the source of the gateway calls it.
type othersOp struct {
	name string
	ask  func(path string) string
	open bool // it answers without looking, and is not refused
}

// others is ann at a service where bob has files, bol has an account and no home, and bok has no account.
type others struct {
	*webhdfsService
	t      *testing.T
	access string // token of ann
	file   uint64 // Info.ID of bob's file
}

// othersPaths are paths of which ann must not learn a difference: those in a line have one answer. No name is elsewhere in an
// answer, and all in a line have one length.
var othersPaths = [][]string{
	{"/bob", "/bol", "/bok"},
	{"/bob/zsecret", "/bob/zfolder", "/bob/zabsent", "/bol/zsecret", "/bok/zsecret"},
	{"/bob/zfolder/zinside", "/bob/zfolder/zabsent", "/bob/zsecret/zinside", "/bob/zabsent/zinside", "/bok/zfolder/zinside"},
	{"/ann/zlink/zsecret", "/ann/zlink/zfolder", "/ann/zlink/zabsent", "/ann/zlost/zsecret"},
}

var othersNames = regexp.MustCompile(`bo[bkl]|zsecret|zfolder|zabsent|zinside|zlink|zlost`)

// othersRefusal is in a refusal; it does not matter that this store could not do it.
var othersRefusal = regexp.MustCompile(`another user|^403|^501|not supported`)

// TestOthersHome asks all gateways everything about the home of another user: each has one answer, whether the account, the home and
// the file exist or not.
func TestOthersHome(t *testing.T) {
	s := startWebHDFS(t, believing, "", "--no-tls", "--sftp", "127.0.0.1:0")
	run(t, goodPassword, "user", "add", "bol", "--data", s.data, "--password-stdin")
	bob, _ := s.login(t, "bob")
	ann, tokens := s.login(t, "ann")
	const home = "/pfs/local/home"
	pfstest.MustMkdir(t, bob, home+"/bob/zfolder")
	for _, name := range []pfs.Path{"/bob/zsecret", "/bob/zfolder/zinside"} {
		pfstest.WriteFile(t, bob, home+name, []byte("sesame seeds"))
	}
	pfstest.WriteFile(t, ann, home+"/ann/own", []byte("own"))
	pfstest.MustLink(t, ann, "../bob", home+"/ann/zlink")
	pfstest.MustLink(t, ann, "../bok", home+"/ann/zlost")
	before, err := bob.Stat(t.Context(), home+"/bob/zsecret")
	if err != nil {
		t.Fatal(err)
	}
	o := &others{webhdfsService: s, t: t, access: tokens.Access, file: before.ID}
	for gateway, ops := range map[string][]othersOp{"HTTP": o.service(), "SFTP": o.sftp(), "WebHDFS": o.hdfs(), "the pages": o.web(), "WebDAV": o.dav()} {
		t.Run(gateway, func(t *testing.T) {
			for _, op := range ops {
				for _, names := range othersPaths {
					first := ""
					for _, name := range names {
						answer := othersNames.ReplaceAllString(op.ask(home+name), "NAME")
						if first == "" {
							first = answer
						}
						if answer != first {
							t.Errorf("%s of %s and of %s:\n%.600s\n%.600s", op.name, names[0], name, first, answer)
						}
					}
					if !op.open && !othersRefusal.MatchString(first) {
						t.Errorf("%s of %s is not refused: %.300s", op.name, names[0], first)
					}
					if strings.Contains(first, "sesame") {
						t.Errorf("%s of %s: %.300s", op.name, names[0], first)
					}
				}
			}
		})
	}
	pfstest.WantNames(t, bob, home+"/bob", "zfolder", "zsecret")
	pfstest.WantNames(t, bob, home+"/bob/zfolder", "zinside")
	pfstest.WantFile(t, bob, home+"/bob/zsecret", []byte("sesame seeds"))
	if after, err := bob.Stat(t.Context(), home+"/bob/zsecret"); err != nil || after.Version != before.Version || after.Mode != before.Mode {
		t.Errorf("bob's file was %+v and is %+v, %v", before, after, err)
	}
	pfstest.WantNames(t, ann, home+"/ann", "own", "zlink", "zlost")
	for _, user := range []string{"bok", "bol"} {
		if _, err := os.Stat(filepath.Join(s.data, "store/home", user)); !os.IsNotExist(err) {
			t.Errorf("the home of %s was made: %v", user, err)
		}
	}
}

// covers fails the test unless each name that a pattern finds in a source is one of an operation, or is other.
func (o *others) covers(source, pattern string, ops []othersOp, other ...string) {
	o.t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("../../" + source))
	if err != nil {
		o.t.Fatal(err)
	}
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1)
	if len(found) == 0 {
		o.t.Errorf("%s has nothing like %s", source, pattern)
	}
	for _, m := range found {
		name := strings.Join(m[1:], " ")
		if !slices.Contains(other, name) && !slices.ContainsFunc(ops, func(op othersOp) bool { return op.name == name || strings.HasPrefix(op.name, name+" ") }) {
			o.t.Errorf("%s of %s is not in the table", name, source)
		}
	}
}

// http sends a request, and returns the answer with its headers.
func (o *others) http(method, address string, body io.Reader, header ...string) string {
	o.t.Helper()
	r, err := http.NewRequestWithContext(o.t.Context(), method, address, body)
	if err != nil {
		o.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+o.access)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		o.t.Fatalf("%s %s: %v", method, address, err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	a.Header.Del("Date")
	return fmt.Sprint(a.StatusCode, " ", a.Header, " ", string(b), err)
}

// service are the operations of the service itself.
func (o *others) service() (ops []othersOp) {
	const own, id = "/pfs/local/home/ann/own", "0123456789abcdef"
	call := func(method string, message func(p string) any) {
		ops = append(ops, othersOp{name: method, ask: func(p string) string {
			return o.http("POST", o.endpoint+wire.PathCall+method, bytes.NewReader(wire.Encode(message(p))))
		}})
	}
	for _, method := range []string{wire.CallStat, wire.CallRemove, wire.CallRemoveTree, wire.CallListXattr, wire.CallSpace, wire.CallUsage, wire.CallCapabilities} {
		call(method, func(p string) any { return wire.PathRequest{Path: p} })
	}
	for _, method := range []string{wire.CallRename, wire.CallRenameExclusive, wire.CallHardLink} {
		call(method, func(p string) any { return wire.TwoPathRequest{Old: p, New: own} })
		call(method, func(p string) any { return wire.TwoPathRequest{Old: own, New: p} })
		call(method, func(p string) any { return wire.TwoPathRequest{Old: p, New: p} })
	}
	for _, method := range []string{wire.CallXattr, wire.CallSetXattr, wire.CallRemoveXattr} {
		call(method, func(p string) any { return wire.XattrRequest{Path: p, Name: "user.a", Value: []byte("x")} })
	}
	call(wire.CallList, func(p string) any { return wire.ListRequest{Path: p} })
	call(wire.CallList, func(p string) any { return wire.ListRequest{Path: p, Token: "x", Digests: true, Attrs: true} })
	call(wire.CallMkdir, func(p string) any { return wire.ModeRequest{Path: p, Mode: 0o755} })
	call(wire.CallSymlink, func(p string) any { return wire.SymlinkRequest{Path: p, Target: "x"} })
	call(wire.CallSetAttr, func(p string) any {
		return wire.AttrRequest{Path: p, Attrs: wire.NewAttrs(pfs.AttrMode, pfs.Attrs{Mode: 0o777})}
	})
	call(wire.CallSetAttr, func(p string) any { return wire.AttrRequest{Path: p, Attrs: wire.NewAttrs(pfs.AttrSize, pfs.Attrs{})} })
	call(wire.CallMknod, func(p string) any { return wire.MknodRequest{Path: p, Mode: 0o10644} })
	call(wire.CallConcat, func(p string) any { return wire.ConcatRequest{Path: p, Sources: []string{own}} })
	call(wire.CallConcat, func(p string) any { return wire.ConcatRequest{Path: own, Sources: []string{p}} })
	call(wire.CallLocate, func(p string) any { return wire.LocateRequest{Path: p, Length: 10} })
	call(wire.CallSetQuota, func(p string) any { return wire.QuotaRequest{Path: p, MaxBytes: 1} })
	for a := pfs.Access(0); a < 32; a++ {
		if a.Valid() {
			call(wire.CallAccess, func(p string) any { return wire.AccessRequest{Path: p, Access: uint8(a)} })
		}
	}
	call(wire.CallSweep, func(p string) any { return wire.SweepRequest{Path: p} })
	call(wire.CallCopy, func(p string) any { return wire.CopyRequest{Source: p, Target: own, ID: id} })
	call(wire.CallCopy, func(p string) any { return wire.CopyRequest{Source: own, Target: p, ID: id} })
	call(wire.CallDigest, func(p string) any { return wire.DigestRequest{Path: p, Algorithm: "blake3"} })
	for _, reopen := range []bool{false, true} {
		call(wire.CallCreate, func(p string) any { return wire.CreateRequest{Path: p, ID: id, Reopen: reopen} })
	}
	call(wire.CallLeaves, func(p string) any { return wire.LeavesRequest{Path: p, ID: id, Size: 1, Count: 1} })
	call(wire.CallSync, func(p string) any { return wire.StagedRequest{Path: p, ID: id} })
	call(wire.CallDiscard, func(p string) any { return wire.StagedRequest{Path: p, ID: id} })
	call(wire.CallCommit, func(p string) any { return wire.CommitRequest{Path: p, ID: id} })
	for _, flags := range []pfs.OpenFlags{pfs.OpenRead, pfs.OpenWrite, pfs.OpenRead | pfs.OpenWrite | pfs.OpenCreate, pfs.OpenWrite | pfs.OpenTruncate, pfs.OpenWrite | pfs.OpenCreate | pfs.OpenExclusive, pfs.OpenWrite | pfs.OpenAppend} {
		call(wire.CallOpen, func(p string) any { return wire.OpenRequest{Handle: wire.Handle{ID: id, Path: p, Flags: uint8(flags)}} })
		for _, method := range []string{wire.CallHandleStat, wire.CallHandleTruncate, wire.CallHandleAllocate, wire.CallHandleSync, wire.CallHandleSetAttr} {
			call(method, func(p string) any {
				return wire.HandleRequest{Handle: wire.Handle{ID: id, Path: p, Flags: uint8(flags), File: o.file}}
			})
		}
	}
	o.covers("pfs/wire/message.go", `(?m)^\tCall\w+\s+= "([a-z-]+)"`, ops, wire.CallHandleClose, wire.CallRenew) // these name no path

	data := func(name, method, query string, body []byte) {
		ops = append(ops, othersOp{name: name, ask: func(p string) string {
			return o.http(method, o.endpoint+name+"?"+query+"&path="+url.QueryEscape(p), bytes.NewReader(body))
		}})
	}
	chunk, _ := io.ReadAll(wire.NewChunkReader([]byte("x")))
	handle := fmt.Sprintf("&handle=%s&file=%d&flags=", id, o.file)
	for _, query := range []string{"", "&info=1", "&version=x", "&id=" + id, handle + "1"} {
		data(wire.PathData, "GET", "off=0&len=10"+query, nil)
	}
	data(wire.PathData, "PUT", "off=0&id="+id, chunk)
	data(wire.PathWrite, "PUT", "off=0"+handle+"2", chunk)
	batch := func(name string, message func(p string) any, after []byte) {
		ops = append(ops, othersOp{name: name, ask: func(p string) string {
			var b bytes.Buffer
			if err := wire.WriteFrame(&b, message(p)); err != nil {
				o.t.Fatal(err)
			}
			b.Write(after)
			return o.http("POST", o.endpoint+name, &b)
		}})
	}
	batch(wire.PathBatch, func(p string) any { return wire.BatchRequest{Entries: []wire.BatchEntry{{Path: p, Size: 1}}} }, chunk)
	batch(wire.PathBatch, func(p string) any {
		return wire.BatchRequest{Entries: []wire.BatchEntry{{Path: p, Mode: wire.ModeBits(os.ModeDir | 0o755)}}}
	}, nil)
	batch(wire.PathRead, func(p string) any { return wire.ReadRequest{Files: []wire.ReadFile{{Path: p, Size: 12}}} }, nil)
	batch(wire.PathRead, func(p string) any { return wire.ReadRequest{Ranges: []wire.ReadRange{{Path: p, Size: 12}}} }, nil)
	batch(wire.PathCopy, func(p string) any {
		return wire.CopyBatchRequest{Files: []wire.CopyFile{{Source: p, Target: own, Size: 12}}}
	}, nil)
	batch(wire.PathCopy, func(p string) any {
		return wire.CopyBatchRequest{Files: []wire.CopyFile{{Source: own, Target: p, Size: 3}}}
	}, nil)
	o.covers("pfs/wire/message.go", `(?m)^\tPath\w+\s+= "(/v1/[a-z-]+)"`, ops, wire.PathService, wire.PathLogin, wire.PathRefresh, wire.PathLogout)
	return ops
}

// sftp are the packets and the commands of SSH.
func (o *others) sftp() (ops []othersOp) {
	c, err := ssh.Dial("tcp", "127.0.0.1:"+sshPort(o.t, o.said), &ssh.ClientConfig{
		User: "ann", Auth: []ssh.AuthMethod{ssh.Password(strings.TrimSpace(goodPassword))}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	})
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { c.Close() })
	x, err := c.NewSession()
	if err != nil {
		o.t.Fatal(err)
	}
	in, _ := x.StdinPipe()
	out, _ := x.StdoutPipe()
	if err := x.RequestSubsystem("sftp"); err != nil {
		o.t.Fatal(err)
	}
	exchange := func(packet []byte) string {
		var head [4]byte
		_, err := in.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(packet))), packet...))
		if err == nil {
			_, err = io.ReadFull(out, head[:])
		}
		b := make([]byte, binary.BigEndian.Uint32(head[:]))
		if err == nil {
			_, err = io.ReadFull(out, b)
		}
		if err != nil {
			o.t.Fatalf("packet %q: %v", packet, err)
		}
		return string(b)
	}
	exchange([]byte{1, 0, 0, 0, 3})
	// PATH and OWN in fields are paths.
	packet := func(name string, kind byte, open bool, fields ...string) {
		ops = append(ops, othersOp{name: name, open: open, ask: func(p string) string {
			b := []byte{kind, 0, 0, 0, 7}
			for _, f := range fields {
				if f = map[string]string{"PATH": p, "OWN": "/pfs/local/home/ann/own"}[f] + f; f[0] == '/' {
					f = strings.TrimSuffix(strings.TrimSuffix(f, "PATH"), "OWN")
				}
				if f[0] == '/' || strings.Contains(f, "@") {
					b = binary.BigEndian.AppendUint32(b, uint32(len(f)))
				}
				b = append(b, f...)
			}
			return exchange(b)
		}})
	}
	const none, size, mode = "\x00\x00\x00\x00", "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x04\x00\x00\x01\xff"
	for _, flags := range []string{"\x01", "\x02", "\x03", "\x06", "\x0a", "\x1a", "\x1b", "\x2a"} {
		packet("Open "+fmt.Sprintf("%q", flags), 3, false, "PATH", "\x00\x00\x00"+flags, none)
	}
	packet("Lstat", 7, false, "PATH")
	for _, a := range []string{none, size, mode} {
		packet("Setstat", 9, a == none, "PATH", a)
		packet("Extended lsetstat", 200, a == none, "lsetstat@openssh.com", "PATH", a)
	}
	packet("Opendir", 11, false, "PATH")
	packet("Remove", 13, false, "PATH")
	packet("Mkdir", 14, false, "PATH", none)
	packet("Rmdir", 15, false, "PATH")
	packet("Realpath", 16, true, "PATH")
	packet("Stat", 17, false, "PATH")
	packet("Rename", 18, false, "PATH", "OWN")
	packet("Rename", 18, false, "OWN", "PATH")
	packet("Readlink", 19, false, "PATH")
	packet("Symlink", 20, false, "OWN", "PATH")
	for _, e := range []string{"posix-rename@openssh.com", "hardlink@openssh.com"} {
		packet("Extended "+e, 200, false, e, "PATH", "OWN")
		packet("Extended "+e, 200, false, e, "OWN", "PATH")
	}
	packet("Extended statvfs", 200, false, "statvfs@openssh.com", "PATH")
	packet("Extended expand-path", 200, true, "expand-path@openssh.com", "PATH")
	o.covers("pfs/sftpd/packet.go", `(?m)^\ttype([A-Z]\w*)\s+= \d`, ops,
		"Init", "Version", "Close", "Read", "Write", "Fstat", "Fsetstat", "Readdir", "Status", "Handle", "Data", "Name", "Attrs", "Reply") // of what is open, and answers

	for _, command := range []string{"md5sum PATH", "sha256sum PATH", "scp -f PATH", "scp -r -f PATH", "scp -f PATH/*", "scp -f PATH*", "scp -t PATH", "scp -r -t PATH", "scp -t -d PATH"} {
		ops = append(ops, othersOp{name: command, open: command == "scp -f PATH*", ask: func(p string) string {
			x, err := c.NewSession()
			if err != nil {
				o.t.Fatal(err)
			}
			defer x.Close()
			x.Stdin = strings.NewReader("\x00\x00\x00\x00")
			if strings.Contains(command, "-t") {
				x.Stdin = strings.NewReader("C0644 1 f\nx\x00")
			}
			said, err := x.CombinedOutput(strings.ReplaceAll(command, "PATH", p))
			return fmt.Sprintf("%s %v", said, err)
		}})
	}
	return ops
}

// hdfs are the operations of WebHDFS.
func (o *others) hdfs() (ops []othersOp) {
	for _, q := range []string{
		"Get OPEN", "Get OPEN&offset=1&length=1", "Get GETFILESTATUS", "Get LISTSTATUS", "Get LISTSTATUS_BATCH", "Get LISTSTATUS_BATCH&startAfter=a", "Get GETCONTENTSUMMARY", "Get GETQUOTAUSAGE", "Get GETFILECHECKSUM",
		"Get GETFILEBLOCKLOCATIONS", "Get GET_BLOCK_LOCATIONS", "Get CHECKACCESS&fsaction=---", "Get CHECKACCESS&fsaction=r--", "Get CHECKACCESS&fsaction=-wx", "Get GETXATTRS", "Get GETXATTRS&xattr.name=user.a", "Get LISTXATTRS",
		"Put CREATE", "Put CREATE&overwrite=true", "Put CREATE&noredirect=true", "Put CREATE&createparent=false", "Put MKDIRS", "Put RENAME&destination=/x", "Put RENAME&destination=/x&renameoptions=OVERWRITE", "Put RENAME&destination=PATH",
		"Put RENAME&destination=PATH&renameoptions=OVERWRITE", "Put SETPERMISSION&permission=777", "Put SETOWNER&owner=ann", "Put SETOWNER", "Put SETTIMES&modificationtime=1", "Put SETTIMES", "Put SETREPLICATION&replication=1",
		"Put SETXATTR&xattr.name=user.a&xattr.value=1", "Put REMOVEXATTR&xattr.name=user.a", "Post APPEND", "Post APPEND&noredirect=true", "Post CONCAT&sources=/x", "Post CONCAT&sources=PATH", "Post TRUNCATE&newlength=0",
		"Delete DELETE", "Delete DELETE&recursive=true",
	} {
		method, query, _ := strings.Cut(q, " ")
		name, _, _ := strings.Cut(query, "&")
		ops = append(ops, othersOp{name: name + " " + query, open: query == "SETOWNER", ask: func(p string) string {
			at := p
			if strings.Contains(query, "PATH") {
				at = "/own"
			}
			return o.http(strings.ToUpper(method), o.webhdfs+"/webhdfs/v1"+at+"?op="+strings.ReplaceAll(query, "PATH", p)+"&user.name=ann", http.NoBody, "Authorization", "")
		}})
	}
	o.covers("pfs/webhdfs/server.go", `(?m)^\t\t\{name: "([A-Z_]+)"`, ops,
		"GETHOMEDIRECTORY", "GETTRASHROOT", "GETSERVERDEFAULTS", "GETDELEGATIONTOKEN", "RENEWDELEGATIONTOKEN", "CANCELDELEGATIONTOKEN") // whatever the path
	return ops
}

// dav are the methods of WebDAV.
func (o *others) dav() (ops []othersOp) {
	own := "/dav/pfs/local/home/ann/own"
	for _, m := range [][]string{
		{"OPTIONS"}, {"GET"}, {"GET", "Range", "bytes=0-1"}, {"GET", "If-Match", `"x"`}, {"GET", "If-None-Match", "*"}, {"HEAD"}, {"PUT"}, {"PUT", "If-Match", "*"}, {"PUT", "If-None-Match", "*"}, {"DELETE"}, {"MKCOL"},
		{"PROPFIND", "Depth", "0"}, {"PROPFIND", "Depth", "1"}, {"PROPFIND", "Depth", "infinity"}, {"PROPPATCH"}, {"LOCK"}, {"LOCK", "If", "(<urn:x>)"}, {"UNLOCK", "Lock-Token", "<urn:x>"}, {"UNLOCK"},
		{"COPY", "Destination", own + "2"}, {"COPY", "Destination", own + "2", "Overwrite", "F", "Depth", "0"}, {"MOVE", "Destination", own + "2"}, {"MOVE", "Destination", own, "Overwrite", "F"},
		{"COPY", "Destination", "PATH"}, {"COPY", "Destination", "PATH", "Overwrite", "F"}, {"MOVE", "Destination", "PATH"}, {"MOVE", "Destination", "PATH", "Overwrite", "F"},
	} {
		ops = append(ops, othersOp{name: strings.Join(m, " "), open: m[0] == "OPTIONS" || slices.Contains(m, "infinity"), ask: func(p string) string {
			at, header := "/dav"+p, slices.Clone(m[1:])
			if i := slices.Index(header, "PATH"); i >= 0 {
				at, header[i] = own, "/dav"+p
			}
			body := ""
			switch m[0] {
			case "PUT":
				body = "x"
			case "PROPPATCH":
				body = `<propertyupdate xmlns="DAV:"><set><prop><lastmodified>1</lastmodified></prop></set></propertyupdate>`
			case "LOCK":
				body = `<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>`
			}
			return o.http(m[0], o.endpoint+at, strings.NewReader(body), header...)
		}})
	}
	text, err := os.ReadFile(filepath.FromSlash("../../pfs/webdav/webdav.go"))
	if err != nil {
		o.t.Fatal(err)
	}
	for _, method := range strings.Split(regexp.MustCompile(`const methods = "(.*)"`).FindStringSubmatch(string(text))[1], ", ") {
		if !slices.ContainsFunc(ops, func(op othersOp) bool { return strings.HasPrefix(op.name+" ", method+" ") }) {
			o.t.Errorf("the method %s is not in the table", method)
		}
	}
	return ops
}

// web are the pages, and what their script sends.
func (o *others) web() (ops []othersOp) {
	const id = "0123456789abcdef"
	r, err := http.NewRequestWithContext(o.t.Context(), "POST", o.endpoint+"/ui/login", strings.NewReader(url.Values{"user": {"ann"}, "password": {strings.TrimSpace(goodPassword)}}.Encode()))
	if err != nil {
		o.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		o.t.Fatal(err)
	}
	a.Body.Close()
	cookie := ""
	for _, c := range a.Cookies() {
		cookie += c.Name + "=" + c.Value + "; "
	}
	csrf := ""
	send := func(method, page, contentType, body string) string {
		header := []string{"Authorization", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin", "Content-Type", contentType}
		if strings.HasPrefix(page, "/ui/send/") {
			header = append(header, "Pfs-Csrf", csrf) // forms have it in a field
		}
		return o.http(method, o.endpoint+page, strings.NewReader(body), header...)
	}
	csrf = regexp.MustCompile(`name="csrf" content="([0-9a-f]+)"`).FindStringSubmatch(send("GET", "/ui/files/pfs", "", ""))[1]

	// A query and a form have PATH for the path, and NAME for its last element; with the latter the page is of its parent.
	page := func(method, name, query, form string, open bool) {
		ops = append(ops, othersOp{name: strings.TrimSpace(method + " " + name + " " + query + " " + form), open: open, ask: func(p string) string {
			at := p
			if strings.Contains(form, "NAME") {
				at = path.Dir(p)
			} else if strings.Contains(form, "PATH") {
				at = "/pfs/local/home/ann/own"
			}
			fill := strings.NewReplacer("PATH", url.QueryEscape(p), "NAME", url.QueryEscape(path.Base(p)))
			return send(method, "/ui/"+name+at+"?"+fill.Replace(query), "application/x-www-form-urlencoded", fill.Replace(form)+"&csrf="+csrf)
		}})
	}
	for _, name := range []string{"files", "raw", "image", "zip", "usage"} {
		page("GET", name, "", "", false)
	}
	page("GET", "files", "by=size&from=500&before=1&token=x", "", false)
	page("GET", "share", "", "", true) // a form with the name
	page("GET", "rename", "", "", true)
	page("GET", "send/leaf", "off=0&len=1&id="+id, "", false)
	page("POST", "share", "", "days=1", false)
	page("POST", "unshare", "", "link=x", true) // there is no such link
	page("POST", "zip", "", "name=NAME", false)
	page("POST", "zip", "", "name=x", false)
	page("POST", "rename", "", "to=x", false)
	page("POST", "rename", "", "to=PATH", false)
	page("POST", "mkdir", "", "name=NAME", false)
	page("POST", "mkdir", "", "name=x", false)
	page("POST", "delete", "", "name=NAME", true) // asks, with the name
	page("POST", "delete", "", "name=NAME&confirm=yes", false)
	page("POST", "delete", "", "name=x&confirm=yes", false)
	page("POST", "send/begin", "size=1&id="+id, "", false)
	page("POST", "send/begin", "size=1&replace=yes&id="+id, "", false)
	page("POST", "send/begin", "size=1&id="+id+"&below=/pfs/local/home", "", true) // a link is no folder
	page("PUT", "send/leaf", "off=0&id="+id, "x", false)
	page("POST", "send/commit", "size=0&id="+id, "", false)
	page("POST", "send/mkdir", "below=/pfs/local", "", false)
	page("POST", "send/discard", "id="+id, "", false)
	for _, replace := range []bool{false, true} {
		ops = append(ops, othersOp{name: fmt.Sprint("POST upload ", replace), ask: func(p string) string {
			var b bytes.Buffer
			m := multipart.NewWriter(&b)
			if err := m.SetBoundary("boundary"); err != nil {
				o.t.Fatal(err)
			}
			_ = m.WriteField("csrf", csrf)
			if replace {
				_ = m.WriteField("replace", "yes")
			}
			f, _ := m.CreateFormFile("file", path.Base(p))
			_, _ = f.Write([]byte("x"))
			m.Close()
			return send("POST", "/ui/upload"+path.Dir(p), m.FormDataContentType(), b.String())
		}})
	}
	o.covers("pfs/web/web.go", `"(GET|POST|PUT) /ui/([a-z/]+)/\{path\.\.\.\}"`, ops)
	return ops
}
