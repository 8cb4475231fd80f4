package rpc

import (
	"fmt"
	"testing"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// BenchmarkCall makes calls one after another, and from many goroutines at once, on a NameNode that answers
// immediately.
func BenchmarkCall(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			node := fake(b, answering(func(c *fakeConn, r request) { c.answer(r.header.GetCallId(), 7) }))
			c := client(b, node)
			b.ReportAllocs()
			b.SetParallelism(callers)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if _, err := locate(b.Context(), c, "/7", Idempotent); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// BenchmarkNameNode asks a real NameNode for the attributes of its root from many goroutines over one connection,
// and does the same with the library.
func BenchmarkNameNode(b *testing.B) {
	cluster := testbed.HDFS(b)
	c := New(Options{Servers: NewServers(cluster.NameNodes), User: cluster.Superuser, Timeout: realTimeout})
	defer c.Close()
	library, err := hdfs.NewClient(hdfs.ClientOptions{Addresses: cluster.NameNodes, User: cluster.Superuser})
	if err != nil {
		b.Fatal(err)
	}
	defer library.Close()
	// The NameNode looks only at the first field, and nothing looks at the response.
	request := &hdfsproto.GetBlockLocationsRequest{Path: proto.String("/"), Offset: proto.Uint64(0), Length: proto.Uint64(0)}
	for name, call := range map[string]func() error{
		"own":     func() error { return c.Call(b.Context(), "getFileInfo", request, new(emptypb.Empty), Idempotent) },
		"library": func() error { _, err := library.Stat("/"); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if err := call(); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
