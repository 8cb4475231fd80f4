package wire

import (
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

// BenchmarkCork sends chunks over TLS on loopback.
func BenchmarkCork(b *testing.B) {
	p := make([]byte, pfs.ChunkSize)
	b.Run("with", func(b *testing.B) {
		raw := dialDiscard(b)
		cork := NewCork(raw)
		conn := &CorkedConn{Conn: handshaken(b, cork), Cork: cork}
		sendChunks(b, p, func(r *ChunkReader) (int64, error) { return conn.ReadFrom(io.LimitReader(r, r.Len())) })
	})
	b.Run("without", func(b *testing.B) {
		conn := handshaken(b, dialDiscard(b))
		sendChunks(b, p, func(r *ChunkReader) (int64, error) { return r.WriteTo(conn) })
	})
}

// handshaken returns TLS over raw. No cork may be on before it is: it would hold back the
// handshake.
func handshaken(b *testing.B, raw net.Conn) *tls.Conn {
	b.Helper()
	conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
	if err := conn.Handshake(); err != nil {
		b.Fatal(err)
	}
	return conn
}

func sendChunks(b *testing.B, p []byte, send func(*ChunkReader) (int64, error)) {
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		if n, err := send(NewChunkReader(p)); n != int64(len(p)+SumSize) || err != nil {
			b.Fatalf("%d bytes sent, %v", n, err)
		}
	}
}

// dialDiscard returns a connection to a TLS server that discards all input.
func dialDiscard(b *testing.B) net.Conn {
	b.Helper()
	s := httptest.NewTLSServer(nil) // for its certificate
	config := s.TLS.Clone()
	s.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.Copy(io.Discard, tls.Server(conn, config)) // until the client closes
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		conn.Close()
		l.Close()
	})
	return conn
}
