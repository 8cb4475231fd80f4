package hdfsfs

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/relay"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"golang.org/x/net/dns/dnsmessage"
)

// resolveAs resolves every name to an address until the test ends.
func resolveAs(t *testing.T, ip net.IP) {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	go answerAll(server, ip)
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = before
		server.Close()
	})
}

// answerAll answers each question for an address of the family of ip with it, and says that there are none of the other.
func answerAll(server net.PacketConn, ip net.IP) {
	p := make([]byte, 1500)
	for {
		n, from, err := server.ReadFrom(p)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(p[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		answer := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}}
		m.Response, m.Additionals = true, nil
		switch v4 := ip.To4(); {
		case q.Type == dnsmessage.TypeA && v4 != nil:
			answer.Body = &dnsmessage.AResource{A: [4]byte(v4)}
			m.Answers = []dnsmessage.Resource{answer}
		case q.Type == dnsmessage.TypeAAAA && v4 == nil:
			answer.Body = &dnsmessage.AAAAResource{AAAA: [16]byte(ip)}
			m.Answers = []dnsmessage.Resource{answer}
		}
		if p, err := m.Pack(); err == nil {
			_, _ = server.WriteTo(p, from)
		}
	}
}

// TestDataNodesByName reaches DataNodes by their names, which lead to other addresses than the NameNode knows, as
// those behind a NAT do. The second time these are addresses of IPv6, and so is that of the NameNode.
func TestDataNodesByName(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSEncrypted(t)
	for _, ip := range []string{"127.0.9.1", "::1"} {
		t.Run(ip, func(t *testing.T) {
			resolveAs(t, net.ParseIP(ip))
			outside := func(address string) *relay.Relay {
				_, port, _ := net.SplitHostPort(address)
				return relay.At(t, net.JoinHostPort(ip, port), address)
			}
			nameNode := outside(c.NameNodes[0])
			o, err := ParseURL("hdfs://"+nameNode.Address()+c.Scratch(t), "")
			must(t, err)
			o.User, o.BlockSize, o.DatanodeHostname = c.Superuser, small, true
			var nodes []*relay.Relay
			for _, dn := range []string{"dn1", "dn2", "dn3"} {
				nodes = append(nodes, outside(c.DataNode(t, dn)))
			}
			f := open(t, o)
			transferAll(t, f, "/f")
			for range 20 { // the NameNode chooses another first one each time
				pfstest.WriteFile(t, f, "/g", []byte("content"))
				pfstest.WantFile(t, f, "/g", []byte("content"))
			}
			for i, r := range slices.Concat(nodes, []*relay.Relay{nameNode}) {
				if r.Connections() == 0 {
					t.Errorf("relay %d has no connection", i)
				}
			}
			blocks, err := f.BlockLocations(t.Context(), "/f", 0, 1)
			must(t, err)
			if !strings.HasSuffix(blocks[0].Hosts[0], ".pfs.test") {
				t.Errorf("the hosts of a block are %v", blocks[0].Hosts)
			}
			c.Kill(t, "dn2") // a pipeline is repaired, and a read goes on, through the names
			pfstest.WriteFile(t, f, "/h", pfstest.Pattern(1, 3*small))
			pfstest.WantFile(t, f, "/h", pfstest.Pattern(1, 3*small))
			c.Start(t, "dn2")
		})
	}
}

// TestTokenEnds reads and writes for longer than a block token lasts: a minute.
func TestTokenEnds(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSEncrypted(t)
	f := open(t, options(c, c.Scratch(t)))
	data := pfstest.Pattern(4, 3*small)
	pfstest.WriteFile(t, f, "/f", data)
	h, err := f.Open(t.Context(), "/f")
	must(t, err)
	defer h.Close()
	written := openFor(t, f, "/written", appending|pfs.OpenCreate)
	appendAll(t, written, data[:small/2])
	first := make([]byte, 100_000)
	_, err = h.ReadAt(t.Context(), first, 0)
	must(t, err)
	known := h.(*file).block(0).GetToken()
	must(t, wait(t.Context(), 3*time.Minute)) // a DataNode also accepts tokens of the key before
	got := make([]byte, len(data))
	_, err = h.ReadAt(t.Context(), got, 0)
	must(t, err)
	if string(got) != string(data) {
		t.Error("wrong bytes")
	}
	if now := h.(*file).block(0).GetToken(); string(now.GetIdentifier()) == string(known.GetIdentifier()) {
		t.Error("the token did not end")
	}
	c.Kill(t, "dn1") // whoever is left in the pipeline needs a new token
	appendAll(t, written, data[small/2:])
	must(t, written.Sync(t.Context()))
	c.Start(t, "dn1")
	pfstest.WantFile(t, f, "/written", data)
}
