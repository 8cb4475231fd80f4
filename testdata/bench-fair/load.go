//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/client"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/wire"
)

const (
	home     = homes + "alice/"
	fileSize = 64 << 20
)

// kind is one kind of load: so many workers call do again and again.
type kind struct {
	name, text string
	workers    int
	do         func(ctx context.Context, c *client.Client, worker int, done *atomic.Int64) error
	over       func(ctx context.Context, g *gateway, worker int, done *atomic.Int64) error // instead of do, by another protocol
	logins     bool                                                                        // do is nil
}

// kinds are all kinds. done counts what the last column is of.
var kinds = []kind{
	{name: "digest", text: "64 BLAKE3 digests of a file of 64 MiB, files", workers: 64, do: sum("file")},
	{name: "huge", text: "64 BLAKE3 digests of a sparse file of 1 TiB", workers: 64, do: sum("huge")},
	{name: "edit", text: "64 writers in place, chunks of 4 MiB", workers: 64, do: edit},
	{name: "leaves", text: "64 times 1024 leaves of a sparse upload, calls", workers: 64, do: leaves},
	{name: "uploads", text: "64 uploads, chunks of 4 MiB", workers: 64, do: upload},
	{name: "downloads", text: "64 downloads, chunks of 4 MiB", workers: 64, do: download},
	{name: "list", text: "32 listers of a large directory, pages", workers: 32, do: list},
	{name: "usage", text: "64 du of a large directory, calls", workers: 64, do: usage},
	{name: "commit", text: "64 commits of 256 MiB that are read back", workers: 64, do: commit},
	{name: "dav-get", text: "64 downloads by WebDAV, of 4 MiB", workers: 64, over: davGet},
	{name: "dav-put", text: "64 uploads by WebDAV, of 4 MiB", workers: 64, over: davPut},
	{name: "dav-list", text: "32 listers by WebDAV of a large directory, 4 MiB of XML", workers: 32, over: davList},
	{name: "web-raw", text: "64 downloads of the pages, of 4 MiB", workers: 64, over: webRaw},
	{name: "web-put", text: "64 uploads by the pages, of 4 MiB", workers: 64, over: webPut},
	{name: "web-zip", text: "3 archives of the pages, of 4 MiB", workers: 3, over: webZip},
	{name: "hdfs-get", text: "64 downloads by WebHDFS, of 4 MiB", workers: 64, over: hdfsGet},
	{name: "hdfs-put", text: "64 uploads by WebHDFS, of 4 MiB", workers: 64, over: hdfsPut},
	{name: "hdfs-list", text: "32 listers by WebHDFS of a large directory, 4 MiB of JSON", workers: 32, over: hdfsList},
	{name: "sftp-get", text: "64 downloads by SFTP, of 4 MiB", workers: 64, over: sftpGet},
	{name: "sftp-put", text: "64 uploads by SFTP, of 4 MiB", workers: 64, over: sftpPut},
	{name: "sftp-list", text: "32 listers by SFTP of a large directory, MiB of names", workers: 32, over: sftpList},
	{name: "scp-get", text: "64 downloads by scp -O, of 4 MiB", workers: 64, over: scpGet},
	{name: "scp-put", text: "64 uploads by scp -O, of 4 MiB", workers: 64, over: scpPut},
	{name: "logins", text: "64 logins from 8 addresses", workers: 64, logins: true},
}

// makeLoad loads the service as alice for the given time, and prints the rate per second.
func makeLoad(name, endpoint, webhdfs, ssh string, length time.Duration) error {
	var k kind
	for _, one := range kinds {
		if one.name == name {
			k = one
		}
	}
	if k.workers == 0 {
		return fmt.Errorf("no such load: %q", name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	var done, failed atomic.Int64
	var last atomic.Value
	var all sync.WaitGroup
	c, err := newUser(endpoint, "alice")
	if err != nil {
		return err
	}
	g, err := newGateway(endpoint, webhdfs, ssh, k.workers)
	if err != nil {
		return err
	}
	for i := range k.workers {
		all.Go(func() {
			for ctx.Err() == nil {
				var err error
				if k.over != nil {
					err = k.over(ctx, g, i, &done)
				} else if k.logins {
					if err = login(endpoint, "alice", fmt.Sprintf("127.0.1.%d", 1+i%8)); err == nil {
						done.Add(1)
					}
				} else {
					err = k.do(ctx, c, i, &done)
				}
				if err != nil && ctx.Err() == nil {
					failed.Add(1)
					last.Store(err.Error())
				}
			}
		})
	}
	all.Wait()
	fmt.Printf("%.1f\n", float64(done.Load())/length.Seconds())
	if n := failed.Load(); n > 0 {
		fmt.Fprintf(os.Stderr, "%s: %d failed, such as: %v\n", name, n, last.Load())
	}
	return nil
}

func sum(name string) func(context.Context, *client.Client, int, *atomic.Int64) error {
	return func(ctx context.Context, c *client.Client, _ int, done *atomic.Int64) error {
		_, err := c.Digest(ctx, pfs.Path(home+name), digest.BLAKE3, nil)
		if err == nil {
			done.Add(1)
		}
		return err
	}
}

var zeros = make([]byte, pfs.ChunkSize)

func edit(ctx context.Context, c *client.Client, worker int, done *atomic.Int64) error {
	h, err := c.OpenHandle(ctx, home+"file", pfs.OpenWrite, 0)
	if err != nil {
		return err
	}
	defer h.Close(ctx)
	for off := int64(0); off < fileSize; off += pfs.ChunkSize {
		if _, err := h.WriteAt(ctx, zeros, off); err != nil {
			return err
		}
		done.Add(1)
	}
	return nil
}

// sparse begins an upload that ends at size.
func sparse(ctx context.Context, c *client.Client, name string, size int64) (pfs.Staged, error) {
	w, err := c.Create(ctx, pfs.Path(home+name), pfs.CreateOptions{})
	if err == nil {
		_, err = w.WriteAt(ctx, []byte{1}, size-1)
	}
	return w, err
}

func leaves(ctx context.Context, c *client.Client, worker int, done *atomic.Int64) error {
	const count = 1024
	w, err := sparse(ctx, c, fmt.Sprint("leaves", worker), count*pfs.ChunkSize)
	if err != nil {
		return err
	}
	defer w.Close(ctx)
	for {
		if _, err := w.(pfs.LeafDigester).LeafDigests(ctx, count*pfs.ChunkSize, 0, count); err != nil {
			return err
		}
		done.Add(1)
	}
}

func upload(ctx context.Context, c *client.Client, worker int, done *atomic.Int64) error {
	const chunks = 8
	w, err := c.Create(ctx, pfs.Path(fmt.Sprint(home, "up", worker)), pfs.CreateOptions{Size: chunks * pfs.ChunkSize})
	if err != nil {
		return err
	}
	defer w.Close(ctx)
	for i := range chunks {
		if _, err := w.WriteAt(ctx, zeros, int64(i)*pfs.ChunkSize); err != nil {
			return err
		}
		done.Add(1)
	}
	_, err = w.Commit(ctx, pfs.CommitOptions{Size: chunks * pfs.ChunkSize})
	return err
}

var sinks = sync.Pool{New: func() any { return new([pfs.ChunkSize]byte) }}

func download(ctx context.Context, c *client.Client, _ int, done *atomic.Int64) error {
	f, err := c.Open(ctx, home+"file")
	if err != nil {
		return err
	}
	defer f.Close()
	p := sinks.Get().(*[pfs.ChunkSize]byte)
	defer sinks.Put(p)
	for off := int64(0); off < fileSize; off += pfs.ChunkSize {
		if err := pfs.ReadFull(ctx, f, p[:], off); err != nil {
			return err
		}
		done.Add(1)
	}
	return nil
}

func list(ctx context.Context, c *client.Client, _ int, done *atomic.Int64) error {
	var opts pfs.ListOptions
	for {
		page, err := c.List(ctx, home+"many", opts)
		if err != nil {
			return err
		}
		done.Add(1)
		if opts.Token = page.Next; opts.Token == "" {
			return nil
		}
	}
}

func usage(ctx context.Context, c *client.Client, _ int, done *atomic.Int64) error {
	_, err := c.Usage(ctx, home+"many")
	if err == nil {
		done.Add(1)
	}
	return err
}

func commit(ctx context.Context, c *client.Client, worker int, done *atomic.Int64) error {
	const size = 256 << 20
	w, err := sparse(ctx, c, fmt.Sprint("commit", worker), size)
	if err != nil {
		return err
	}
	defer w.Close(ctx)
	_, err = w.Commit(ctx, pfs.CommitOptions{Size: size})
	if err == nil {
		done.Add(1)
	}
	return err
}

// login logs in from an address of this machine.
func login(endpoint, user, from string) error {
	_, err := tokens(endpoint, user, from)
	return err
}

// tokens logs in, from an address of this machine if from is not empty.
func tokens(endpoint, user, from string) (wire.Tokens, error) {
	dialer := &net.Dialer{}
	if from != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	h := &http.Client{Transport: &http.Transport{
		DialContext: dialer.DialContext, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // of this machine, started by this program
	}}
	var t wire.Tokens
	resp, err := h.Post(endpoint+wire.PathLogin, wire.TypeMessage, bytes.NewReader(wire.Encode(wire.Credentials{User: user, Password: password})))
	if err != nil {
		return t, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return t, err
	}
	if resp.StatusCode != http.StatusOK {
		return t, fmt.Errorf("login: %s", resp.Status)
	}
	return t, wire.Decode(b, &t)
}

// newUser logs in and returns the user's client.
func newUser(endpoint, user string) (*client.Client, error) {
	t, err := tokens(endpoint, user, "")
	if err != nil {
		return nil, err
	}
	print, _, err := client.Fingerprint(context.Background(), endpoint)
	if err != nil {
		return nil, err
	}
	return client.New(client.Options{
		Endpoint: endpoint, Fingerprint: print,
		Token: func(context.Context, string) (string, error) { return t.Access, nil },
	})
}
