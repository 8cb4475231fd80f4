//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const clusterSize = 512 * mib // of a file

func clusterRows(store string) []row {
	return []row{
		{name: "cold: 512 MiB on " + store, unit: "MB/s", goal: 0.9},
		{name: "write: 512 MiB to " + store + ", then fsync", unit: "MB/s", goal: 0.8},
	}
}

// clusters measures a real HDFS and a real CephFS.
func clusters(b *bench) {
	for _, store := range []string{"HDFS", "CephFS"} {
		rows := clusterRows(store)
		if b.stores == "" || !b.wants(rows[0].name, rows[1].name) {
			continue
		}
		if err := b.cluster(store, rows[0], rows[1]); err != nil {
			b.fail(store, err)
		}
		b.stopAll()
	}
}

func (b *bench) cluster(store string, first, write row) error {
	ctx := context.Background()
	up := exec.Command("sh", "-c", b.stores)
	up.Stderr = os.Stderr
	out, err := up.Output()
	if err != nil {
		return err
	}
	value := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if name, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			value[name] = v
		}
	}
	me, err := user.Current()
	if err != nil {
		return err
	}
	spec := fmt.Sprintf("hdfs %s %s /", value["NAMENODES"], me.Username)
	var peer func() (*mounted, error)
	if store == "CephFS" {
		spec = fmt.Sprintf("ceph %s %s %s /", value["CONF"], value["USER"], value["KEYRING"])
		peer = func() (*mounted, error) {
			return b.program("ceph-fuse", "-f", "-c", value["CONF"], "--id", value["USER"], "--keyring", value["KEYRING"])
		}
	}
	fsys, err := openStore(ctx, spec)
	if err != nil {
		return err
	}
	put := func(name pfs.Path) error {
		w, err := fsys.Create(ctx, name, pfs.CreateOptions{Size: clusterSize})
		if err != nil {
			return err
		}
		defer w.Close(ctx)
		for off := int64(0); off < clusterSize; off += pfs.ChunkSize {
			if _, err := w.WriteAt(ctx, pattern[:pfs.ChunkSize], off); err != nil {
				return err
			}
		}
		_, err = w.Commit(ctx, pfs.CommitOptions{Size: clusterSize})
		return err
	}
	if err := put("/bench"); err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // younger files are not cached
	fresh := func(begin func(cache string) (*mounted, error), do func(dir string) error) func(int) (float64, error) {
		return func(round int) (float64, error) {
			cache := fmt.Sprintf("cluster-%d", round)
			m, err := begin(cache)
			if err != nil {
				return 0, err
			}
			v, err := rate(clusterSize/1e6, func() error { return do(m.dir) })
			_ = fsys.Remove(ctx, "/written")
			return v, errors.Join(err, m.stop(), os.RemoveAll(b.path(cache)), flush())
		}
	}
	read := func(dir string) error { return readSized(dir+"/bench", clusterSize) }
	create := func(dir string) error { return writeFile(filepath.Join(dir, "written"), clusterSize) }
	first.ways = []way{{"store", func(int) (float64, error) {
		return rate(clusterSize/1e6, func() error {
			f, err := fsys.Open(ctx, "/bench")
			if err != nil {
				return err
			}
			defer f.Close()
			buf := make([]byte, pfs.ChunkSize)
			for off := int64(0); off < clusterSize && err == nil; off += pfs.ChunkSize {
				err = pfs.ReadFull(ctx, f, buf, off)
			}
			return err
		})
	}}, {"mount", fresh(func(cache string) (*mounted, error) {
		return b.mount(spec, cache, "-read-only", "-mode", "passthrough")
	}, read)}, {name: "ceph-fuse"}}
	write.ways = []way{{"store", func(int) (float64, error) {
		v, err := rate(clusterSize/1e6, func() error { return put("/written") })
		return v, errors.Join(err, fsys.Remove(ctx, "/written"))
	}}, {"mount", fresh(func(cache string) (*mounted, error) { return b.mount(spec, cache) }, create)}, {name: "ceph-fuse"}}
	if peer != nil {
		first.ways[2].do = fresh(func(string) (*mounted, error) { return peer() }, read)
		write.ways[2].do = fresh(func(string) (*mounted, error) { return peer() }, create)
	}
	b.table(store, "the store package", "mount", "ceph-fuse")
	b.run(first)
	b.run(write)
	return nil
}
