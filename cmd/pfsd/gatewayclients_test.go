package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// The reasons of the table.
const (
	appendsOnly = "HDFS files are only appended to"
	noLinks     = "HDFS has no links"
)

// gatewayClients are the rows of the table in docs/gateways.md.
func gatewayClients() []gatewayClient {
	all := []gatewayClient{
		{name: "sftp", steps: sftpSteps()},
		{name: "scp", steps: scpSteps("-s")},
		{name: "scp -O", steps: scpSteps("-O")},
		{name: "sshfs", begin: (*gatewayWorld).mount, steps: sshfsSteps()},
	}
	all = append(all, rcloneClients()...)
	return append(all,
		gatewayClient{name: "curl, WebDAV", steps: davSteps()},
		gatewayClient{name: "curl, WebHDFS", steps: hdfsSteps()},
		gatewayClient{name: "HdfsCLI", steps: []gatewayStep{pythonStep("hdfscli", "makedirs, write, append, read, list, walk, status, content, checksum, set_permission, set_times, rename, delete")}},
		gatewayClient{name: "fsspec, pandas", steps: []gatewayStep{pythonStep("fsspec", "makedirs, open, cat, ls, du, ukey, mv, rm, read_csv, to_csv")}},
		gatewayClient{name: "Hadoop's shell", tests: "TestHadoopShell, TestHadoopShellOnCephFS", steps: []gatewayStep{
			{op: "mkdir, put, get, cat, ls, count, checksum, mv, chmod, touch, rm, cp from and to `hdfs://`, distcp"},
		}},
		gatewayClient{name: "Chromium", tests: "TestBrowserOnLocal, TestBrowserOnHDFS, TestBrowserOnCephFS", steps: []gatewayStep{
			{op: "upload of two files, new folder, rename, share and download by the link, download as zip, delete of all"},
		}},
	)
}

func sftpSteps() []gatewayStep {
	return []gatewayStep{
		{op: "mkdir", do: func(w *gatewayWorld) error { return w.sftp("mkdir AT/d") }},
		{op: "put", do: func(w *gatewayWorld) error {
			return errors.Join(w.sftp("put large AT/d/large"), w.same("d/large", w.large))
		}},
		{op: "put over a file", do: func(w *gatewayWorld) error {
			return errors.Join(w.sftp("put small AT/d/x", "put large AT/d/x"), w.same("d/x", w.large))
		}},
		{op: "put -f (fsync)", do: func(w *gatewayWorld) error {
			return errors.Join(w.sftp("put -f small AT/d/small"), w.same("d/small", w.small))
		}},
		{op: "put -R", do: func(w *gatewayWorld) error { return errors.Join(w.sftp("put -R tree AT/d"), w.sameTree("d/tree")) }},
		{op: "get", do: func(w *gatewayWorld) error {
			return errors.Join(w.sftp("get AT/d/large got"), w.local("got", w.large))
		}},
		{op: "get -R", do: func(w *gatewayWorld) error {
			return errors.Join(w.sftp("get -R AT/d/tree gottree"), w.localTree("gottree"))
		}},
		{op: "reget", do: func(w *gatewayWorld) error {
			err := os.Truncate(w.dir+"/got", 1<<20)
			return errors.Join(err, w.sftp("reget AT/d/large got"), w.local("got", w.large))
		}},
		{op: "ls -l", do: func(w *gatewayWorld) error {
			out, err := w.run("ls -l AT/d\n", "sftp", "-oBatchMode=no", "-b-", "HOST")
			if err == nil && !strings.Contains(out, fmt.Sprint(len(w.large))) {
				err = errors.New(out)
			}
			return err
		}},
		{op: "df", do: func(w *gatewayWorld) error { return w.sftp("df AT") }},
		{op: "chmod", do: func(w *gatewayWorld) error {
			err := w.sftp("chmod 600 AT/d/large")
			return errors.Join(err, w.info("d/large", func(i pfs.Info) bool { return i.Mode.Perm() == 0o600 }))
		}},
		{op: "rename", do: func(w *gatewayWorld) error {
			return errors.Join(w.sftp("rename AT/d/small AT/d/new"), w.gone("d/small"), w.same("d/new", w.small))
		}},
		{op: "rename over a file", do: func(w *gatewayWorld) error {
			return errors.Join(w.sftp("rename AT/d/new AT/d/x"), w.gone("d/new"), w.same("d/x", w.small))
		}},
		{op: "symlink", do: func(w *gatewayWorld) error {
			return errors.Join(w.sftp("symlink AT/d/x AT/d/link", "get AT/d/link gotlink"), w.local("gotlink", w.small))
		}, no: map[string]string{"HDFS": noLinks}},
		{op: "ln", do: func(w *gatewayWorld) error {
			return errors.Join(w.sftp("ln AT/d/x AT/d/hard"), w.same("d/hard", w.small))
		}, no: map[string]string{"HDFS": noLinks}},
		{op: "reput of a part", do: func(w *gatewayWorld) error {
			err := os.WriteFile(w.dir+"/part", w.large[:3<<20], 0o644)
			return errors.Join(err, w.sftp("put part AT/d/grown", "reput large AT/d/grown"), w.same("d/grown", w.large))
		}},
		{op: "reput after an interruption", do: func(w *gatewayWorld) error {
			err := w.interrupt(7<<20, func() error { return w.sftp("put large AT/d/cut") })
			if err == nil {
				err = w.gone("d/cut")
			}
			if err == nil {
				w.passed.Store(0)
				err = again(func() error { return w.sftp("reput large AT/d/cut") })
			}
			if n := w.passed.Load(); err == nil && n > int64(len(w.large)-(2<<20)) {
				err = fmt.Errorf("%d bytes of %d were sent again", n, len(w.large))
			}
			if err == nil {
				err = w.same("d/cut", w.large)
			}
			return err
		}, no: map[string]string{"HDFS": "it begins again"}},
		{op: "put after an interruption", do: func(w *gatewayWorld) error {
			err := w.interrupt(7<<20, func() error { return w.sftp("put large AT/d/cut2") })
			return errors.Join(err, w.gone("d/cut2"), again(func() error { return w.sftp("put large AT/d/cut2") }), w.same("d/cut2", w.large))
		}},
		{op: "rm", do: func(w *gatewayWorld) error { return errors.Join(w.sftp("rm AT/d/x"), w.gone("d/x")) }},
		{op: "rmdir", do: func(w *gatewayWorld) error {
			return errors.Join(w.sftp("mkdir AT/e", "rmdir AT/e"), w.gone("e"))
		}},
	}
}

func scpSteps(protocol string) []gatewayStep {
	scp := func(w *gatewayWorld, args ...string) error {
		_, err := w.run("", "scp", append([]string{protocol}, args...)...)
		return err
	}
	return []gatewayStep{
		{op: "-r there", do: func(w *gatewayWorld) error {
			return errors.Join(scp(w, "-r", "-p", "tree", "HOST:AT"), w.sameTree("tree"))
		}},
		{op: "-r back", do: func(w *gatewayWorld) error {
			return errors.Join(scp(w, "-r", "-p", "HOST:AT/tree", "back"), w.localTree("back"))
		}},
		{op: "over a file", do: func(w *gatewayWorld) error {
			return errors.Join(scp(w, "small", "HOST:AT/tree/large"), w.same("tree/large", w.small))
		}},
	}
}

// sshfsSteps are scripts in a mount of w.at. They compare with the files beside it.
func sshfsSteps() (steps []gatewayStep) {
	add := func(op, script string, no map[string]string) {
		steps = append(steps, gatewayStep{op, func(w *gatewayWorld) error { return w.shell(script) }, no})
	}
	add("cp there", "cp ../large large; cmp ../large large", nil)
	add("cp over a file", "cp ../small x; cp ../large x; cmp ../large x", nil)
	add("mkdir", "mkdir -p d/e", nil)
	add("append", "cp ../small d/f; echo more >> d/f; [ \"$(cat d/f)\" = smallmore ]", nil)
	add("write in the middle", "printf X | dd of=large bs=1 seek=4194304 conv=notrunc status=none; [ $(cmp -l ../large large | wc -l) = 1 ]", map[string]string{"HDFS": appendsOnly})
	add("truncate", "cp ../small cut; truncate -s 3 cut; [ \"$(cat cut)\" = sma ]", nil)
	add("mv", "mv d/f d/e/g; [ \"$(cat d/e/g)\" = smallmore ]", nil)
	add("ln -s", "ln -s e/g d/link; [ \"$(cat d/link)\" = smallmore ]", map[string]string{"HDFS": noLinks})
	add("chmod", "chmod 600 d/e/g; [ $(stat -c %a d/e/g) = 600 ]", nil)
	add("touch -d", "touch -d 2020-01-02T03:04:05Z d/e/g; [ $(stat -c %Y d/e/g) = 1577934245 ]", nil)
	add("ls", "[ \"$(ls d/e)\" = g ]", nil)
	add("df", "df . >/dev/null", nil)
	add("rm -r", "rm -r d; [ ! -e d ]", nil)
	return steps
}

func davSteps() []gatewayStep {
	dav := func(op, method, name string, check func(w *gatewayWorld) error, args ...string) gatewayStep {
		return gatewayStep{op: op, do: func(w *gatewayWorld) error {
			var all []string
			for _, a := range args {
				all = append(all, strings.ReplaceAll(a, "DAV/", w.davURL("")))
			}
			_, err := w.dav(method, name, all...)
			return errors.Join(err, check(w))
		}}
	}
	return []gatewayStep{
		dav("MKCOL", "MKCOL", "d", func(w *gatewayWorld) error { return w.info("d", pfs.Info.IsDir) }),
		dav("PUT", "PUT", "d/large", func(w *gatewayWorld) error { return w.same("d/large", w.large) }, "-T", "large"),
		dav("PUT over a file", "PUT", "d/large", func(w *gatewayWorld) error { return w.same("d/large", w.small) }, "-T", "small"),
		dav("GET", "GET", "d/large", func(w *gatewayWorld) error { return w.local("got", w.small) }, "-o", "got"),
		dav("GET of a range", "GET", "d/large", func(w *gatewayWorld) error { return w.local("got", w.small[1:3]) }, "-o", "got", "-r", "1-2"),
		{op: "PROPFIND", do: func(w *gatewayWorld) error {
			out, err := w.dav("PROPFIND", "d", "-H", "Depth: 1")
			if err == nil && !strings.Contains(out, "/d/large</") {
				err = errors.New(out)
			}
			return err
		}},
		dav("COPY", "COPY", "d", func(w *gatewayWorld) error { return w.same("copy/large", w.small) }, "-H", "Destination: DAV/copy"),
		dav("MOVE", "MOVE", "d/large", func(w *gatewayWorld) error { return errors.Join(w.gone("d/large"), w.same("moved", w.small)) }, "-H", "Destination: DAV/moved"),
		dav("MOVE over a folder", "MOVE", "d", func(w *gatewayWorld) error { return errors.Join(w.gone("d"), w.gone("copy/large")) }, "-H", "Destination: DAV/copy"),
		dav("LOCK", "LOCK", "moved", func(*gatewayWorld) error { return nil }, "-H", "Timeout: Second-1", "-d",
			`<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>`),
		dav("DELETE", "DELETE", "copy", func(w *gatewayWorld) error { return w.gone("copy") }),
	}
}

func hdfsSteps() []gatewayStep {
	want := func(op string, want any, method, name, query string, keys ...string) gatewayStep {
		return gatewayStep{op: op, do: func(w *gatewayWorld) error { return w.hdfsWant(want, method, name, query, keys...) }}
	}
	return []gatewayStep{
		want("MKDIRS", true, "PUT", "d", "MKDIRS", "boolean"),
		{op: "CREATE", do: func(w *gatewayWorld) error {
			return errors.Join(w.send("PUT", "d/f", "CREATE", "small"), w.same("d/f", w.small))
		}},
		{op: "CREATE over a file", do: func(w *gatewayWorld) error {
			return errors.Join(w.send("PUT", "d/f", "CREATE&overwrite=true", "large"), w.same("d/f", w.large))
		}},
		{op: "APPEND", do: func(w *gatewayWorld) error {
			return errors.Join(w.send("POST", "d/f", "APPEND", "small"), w.same("d/f", append(w.large[:len(w.large):len(w.large)], w.small...)))
		}},
		{op: "OPEN with an offset", do: func(w *gatewayWorld) error {
			status, got := ask(w.t, "GET", w.webhdfs+"/webhdfs/v1"+w.at+"/d/f?user.name=ann&op=OPEN&length=5&offset="+fmt.Sprint(len(w.large)), "")
			if status != 200 || got != string(w.small) {
				return fmt.Errorf("%d %q", status, got)
			}
			return nil
		}},
		want("GETFILESTATUS", "FILE", "GET", "d/f", "GETFILESTATUS", "FileStatus", "type"),
		{op: "LISTSTATUS", do: func(w *gatewayWorld) error {
			_, err := w.hdfs("GET", "d", "LISTSTATUS", "FileStatuses", "FileStatus")
			return err
		}},
		want("GETCONTENTSUMMARY", 1, "GET", "d", "GETCONTENTSUMMARY", "ContentSummary", "fileCount"),
		{op: "GETFILECHECKSUM", do: func(w *gatewayWorld) error {
			_, err := w.hdfs("GET", "d/f", "GETFILECHECKSUM", "FileChecksum", "bytes")
			return err
		}},
		{op: "GETFILEBLOCKLOCATIONS", do: func(w *gatewayWorld) error {
			_, err := w.hdfs("GET", "d/f", "GETFILEBLOCKLOCATIONS", "BlockLocations")
			return err
		}},
		{op: "SETPERMISSION", do: func(w *gatewayWorld) error {
			_, err := w.hdfs("PUT", "d/f", "SETPERMISSION&permission=600")
			return errors.Join(err, w.info("d/f", func(i pfs.Info) bool { return i.Mode.Perm() == 0o600 }))
		}},
		{op: "SETTIMES", do: func(w *gatewayWorld) error {
			_, err := w.hdfs("PUT", "d/f", "SETTIMES&modificationtime=1000000000000")
			return errors.Join(err, w.info("d/f", func(i pfs.Info) bool { return i.ModTime.Unix() == 1e9 }))
		}},
		{op: "SETXATTR, GETXATTRS", do: func(w *gatewayWorld) error {
			_, err := w.hdfs("PUT", "d/f", "SETXATTR&xattr.name=user.a&xattr.value=0x6162&flag=CREATE")
			_, err2 := w.hdfs("GET", "d/f", "GETXATTRS&encoding=hex&xattr.name=user.a")
			return errors.Join(err, err2)
		}},
		{op: "SETREPLICATION", do: func(w *gatewayWorld) error {
			return w.hdfsWant(true, "PUT", "d/f", "SETREPLICATION&replication=1", "boolean")
		}, no: map[string]string{"local": "it has one copy", "CephFS": "the pool has the number"}},
		{op: "TRUNCATE", do: func(w *gatewayWorld) error {
			_, err := w.hdfs("POST", "d/f", "TRUNCATE&newlength=3") // an HDFS may answer that it is still at it
			return errors.Join(err, w.info("d/f", func(i pfs.Info) bool { return i.Size == 3 }))
		}},
		{op: "CONCAT", do: func(w *gatewayWorld) error {
			err := errors.Join(w.send("PUT", "d/a", "CREATE", "small"), w.send("PUT", "d/b", "CREATE", "small"))
			if err == nil {
				_, err = w.hdfs("POST", "d/a", "CONCAT&sources=AT/d/b")
			}
			if err == nil {
				err = w.same("d/a", []byte("smallsmall"))
			}
			return err
		}, no: map[string]string{"local": "only HDFS has it", "CephFS": "only HDFS has it"}},
		want("RENAME", true, "PUT", "d/f", "RENAME&destination=AT/g", "boolean"),
		want("DELETE", true, "DELETE", "d", "DELETE&recursive=true", "boolean"),
	}
}

// pythonStep runs a part of the program with clients of Python.
func pythonStep(part, ops string) gatewayStep {
	return gatewayStep{op: ops, do: func(w *gatewayWorld) error {
		c := exec.CommandContext(w.t.Context(), python(w.t), "testdata/webhdfs_clients.py", w.webhdfs, "ann", strings.TrimSpace(goodPassword), part)
		out, err := c.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
		return err
	}}
}
