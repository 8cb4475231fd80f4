package datanode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/proto"
)

func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i*7 + i>>8)
	}
	return p
}

// TestStream reads ranges with buffers of several sizes, over one connection.
func TestStream(t *testing.T) {
	node := newFakeNode(pattern(10*packetSize + 99))
	c := newCluster(t, Options{}, node)
	for _, off := range []int{0, 1, chunk, packetSize - 1, 3*packetSize + 77, len(node.data) - 1} {
		for _, n := range []int{1, chunk, packetSize + 1, 5 * packetSize} {
			n = min(n, len(node.data)-off)
			for _, size := range []int{1, 100, packetSize, 3*packetSize + 5} {
				s, err := c.client.Open(t.Context(), Replica{c.names[0], c.block(), noToken()}, int64(off), int64(n))
				if err != nil {
					t.Fatal(err)
				}
				var got []byte
				for err == nil {
					p := make([]byte, size)
					var k int
					k, err = s.Read(t.Context(), p)
					got = append(got, p[:k]...)
				}
				if err != io.EOF || !bytes.Equal(got, node.data[off:off+n]) {
					t.Fatalf("%d bytes at %d in pieces of %d: %d bytes, %v", n, off, size, len(got), err)
				}
			}
		}
	}
	if node.conns != 1 {
		t.Errorf("%d connections were made", node.conns)
	}
}

// raw returns what a Stream of 1300 bytes from 512 on reads from a DataNode that sends answer.
func raw(t *testing.T, answer []byte) ([]byte, error) {
	t.Helper()
	ours, theirs, err := connected()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer theirs.Close()
		_, _ = theirs.Read(make([]byte, 1<<10))
		_, _ = theirs.Write(answer)
	}()
	client := NewClient(Options{Timeout: time.Minute, Dial: func(context.Context, string) (net.Conn, error) { return ours, nil }})
	defer client.Close()
	c := cluster{nodes: []*fakeNode{newFakeNode(pattern(chunk + 1300))}}
	s, err := client.Open(t.Context(), Replica{"dn", c.block(), noToken()}, chunk, 1300)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	p := make([]byte, 1300)
	n, err := s.Read(t.Context(), p)
	if err == io.EOF {
		err = nil
	}
	return p[:n], err
}

// TestStreamDamaged flips each bit of an answer: no wrong byte is returned.
func TestStreamDamaged(t *testing.T) {
	data := pattern(chunk + 1300)
	head := len(granted(hdfsproto.ChecksumType_CHECKSUM_CRC32C, chunk, chunk))
	good := newFakeNode(data).answer(chunk, 1300)
	if got, err := raw(t, good); err != nil || !bytes.Equal(got, data[chunk:]) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	end := len(good) - len(appendPacket(nil, 0, nil, nil, true))
	for at := head; at < end; at++ {
		bad := bytes.Clone(good)
		bad[at] ^= 0x10
		got, err := raw(t, bad)
		if !bytes.HasPrefix(data[chunk:], got) {
			t.Fatalf("byte %d flipped: wrong bytes", at)
		}
		var damaged *DamagedError
		if errors.As(err, &damaged) && (damaged.Offset < chunk || damaged.Offset > int64(len(data))) {
			t.Fatalf("byte %d flipped: %v", at, err)
		}
		if err == nil && len(got) != 1300 {
			t.Fatalf("byte %d flipped: %d bytes and no error", at, len(got))
		}
	}
}

// TestStreamRefuses meets answers that cannot be verified or are not the protocol.
func TestStreamRefuses(t *testing.T) {
	const c32c = hdfsproto.ChecksumType_CHECKSUM_CRC32C
	data := pattern(packetSize)
	packet := appendPacket(nil, chunk, data, sumsOf(data), false)
	for name, answer := range map[string][]byte{
		"no checksums":          append(granted(hdfsproto.ChecksumType_CHECKSUM_NULL, chunk, chunk), packet...),
		"unknown checksums":     append(granted(9, chunk, chunk), packet...),
		"chunks of 0":           append(granted(c32c, 0, chunk), packet...),
		"a start behind":        append(granted(c32c, chunk, 2*chunk), packet...),
		"a start far before":    append(granted(c32c, chunk, 0), packet...),
		"an endless length":     bytes.Repeat([]byte{0xff}, 100),
		"a large message":       {0xff, 0xff, 0xff, 0x7f},
		"a packet too large":    append(granted(c32c, chunk, chunk), 0x7f, 0xff, 0xff, 0xff, 0, 0),
		"a packet of elsewhere": append(granted(c32c, chunk, chunk), appendPacket(nil, 0, data, sumsOf(data), false)...),
		"an early end":          append(granted(c32c, chunk, chunk), appendPacket(nil, chunk, nil, nil, true)...),
		"too few checksums":     append(granted(c32c, chunk, chunk), appendPacket(nil, chunk, data, sumsOf(data)[4:], false)...),
		"nothing":               {},
	} {
		if got, err := raw(t, answer); err == nil || len(got) > 0 {
			t.Errorf("%s: %d bytes, error %v", name, len(got), err)
		}
	}
}

// FuzzStream takes any answer without a panic, and returns no bytes without their checksums.
func FuzzStream(f *testing.F) {
	data := pattern(chunk + 1300)
	f.Add(newFakeNode(data).answer(chunk, 1300))
	f.Add(granted(hdfsproto.ChecksumType_CHECKSUM_CRC32, 1, chunk))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, answer []byte) {
		got, _ := raw(t, answer)
		if !bytes.Contains(answer, got[:min(len(got), chunk)]) {
			t.Errorf("%d bytes that were not sent", len(got))
		}
	})
}

// TestAddress reaches DataNodes by name or by address, with IPv6, too.
func TestAddress(t *testing.T) {
	for want, node := range map[string]*hdfsproto.DatanodeID{
		"10.0.0.1:9866": {IpAddr: proto.String("10.0.0.1"), HostName: proto.String("dn1"), TransferPort: proto.Uint32(9866)},
		"[fd00::1]:1":   {IpAddr: proto.String("fd00::1"), HostName: proto.String("dn1"), TransferPort: proto.Uint32(1)},
	} {
		if got := Address(node, false); got != want {
			t.Errorf("the address is %s, want %s", got, want)
		}
		if got, want := Address(node, true), fmt.Sprintf("dn1:%d", node.GetTransferPort()); got != want {
			t.Errorf("by name the address is %s, want %s", got, want)
		}
	}
}
