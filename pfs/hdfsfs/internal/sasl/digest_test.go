package sasl

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

// exchange is a transcript. Those of layers are of Java's implementation.
type exchange struct {
	user, password, uri, cnonce string
	qop                         QOP
	challenge, response, proof  string
	cipher                      string
	toServer, toClient          [2]string // the wrapped messages
}

var plain = [2]string{"a message", "another message of 24 b"}

var exchanges = []exchange{
	{ // RFC 2831, section 4
		user: "chris", password: "secret", uri: "imap/elwood.innosoft.com", cnonce: "OA6MHXh6VqTrRk", qop: Auth,
		challenge: `realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8`,
		response:  "d388dad90d4bbd760a152321f2143af7",
		proof:     "rspauth=ea40f60335c427b5527b84dbabcdfffd",
	},
	{
		user: "dXNlcg==", password: "cGFzc3dvcmQ=", uri: "hdfs/0", cnonce: "t8uD5BZ4jd6DoEZwD4g7/n2pQYSY5Z67bQQZUg8X", qop: AuthInt,
		challenge: `realm="0",nonce="TQhIIOAiFwzdH5btmI7UVh1Ku9vri8oj4zjnNzBL",qop="auth-int",charset=utf-8,algorithm=md5-sess`,
		response:  "adbc455a14c1a038ec7acb5c029385bf",
		proof:     "rspauth=823b66c975f11e1773d42be64e0650d2",
		toServer: [2]string{"61206d65737361676579056f46e5b2e4237692000100000000",
			"616e6f74686572206d657373616765206f662032342062f77626a602bf91ffe221000100000001"},
		toClient: [2]string{"61206d6573736167652faa571594f8777cd7d1000100000000",
			"616e6f74686572206d657373616765206f6620323420628105c0696d88fb434eb6000100000001"},
	},
	{
		user: "dXNlcg==", password: "cGFzc3dvcmQ=", uri: "hdfs/0", cnonce: "FGovfOpPEIrurQXLzO3c4b5+01x4StIuWR+xtKPI", qop: AuthConf, cipher: "rc4",
		challenge: `realm="0",nonce="vcKQiG+B0twDY2iXiMKDa5LuVAJb8OfOuffxnMI7",qop="auth-conf",charset=utf-8,cipher="rc4,des",algorithm=md5-sess`,
		response:  "a996867e3b7b80965fe56ebaff2e6c6e",
		proof:     "rspauth=a1f5a02a309407ad6d77aba40aaea6b2",
		toServer: [2]string{"91ec822caf2aa4ccbffc50c13e949082b29f5c000100000000",
			"35cc2e16f9da3406923a3027a09ced02d0593d356fe964269c5c97412f194e893d000100000001"},
		toClient: [2]string{"5e773ef8e677b834daf4fcdb9b095211db2c1e000100000000",
			"a8e740d6c6f1782b4f5b304724717830a967fc2028358b1bb3def33212482aade8000100000001"},
	},
	{
		user: "dXNlcg==", password: "cGFzc3dvcmQ=", uri: "hdfs/0", cnonce: "jwkwVX5MbBha4GpFLvvGXc+sq2u/qJU0PUFSXUcU", qop: AuthConf, cipher: "3des",
		challenge: `realm="0",nonce="89YUBvnvBL9+chEV45afUVqbEwx9osl/kba8g1xn",qop="auth-conf",charset=utf-8,cipher="3des,rc4,des,rc4-56,rc4-40",algorithm=md5-sess`,
		response:  "19a0be37c3d6766bbdcce5e869ff680d",
		proof:     "rspauth=05b5e75b8b4c8e3e8493e4a034237eea",
		toServer: [2]string{"f4596698416be054fa4d63feb0eac8ebdf993110dbf51b63000100000000",
			"57a6ba090699a92a9ab4f4fafdd9253843359250559a7976827e6561b8ff46dfe54597470a8b5522000100000001"},
		toClient: [2]string{"4ebccd532d364d6efd1b8d8c5e1bb0caa825f280aa9d9a08000100000000",
			"c5509ef4588d8724cfc499894def4b7aa80d206b9341fbc0c8f9c2c1445cf80e7fbf563679772389000100000001"},
	},
}

// begin returns the mechanism of a transcript, before its first challenge.
func (x exchange) begin() *digest {
	protocol, server, _ := strings.Cut(x.uri, "/")
	d := NewDigestMD5(x.user, []byte(x.password), protocol, server, []QOP{AuthConf, AuthInt, Auth}).(*digest)
	d.cnonce = x.cnonce
	return d
}

// TestTranscripts compares the exchange and the layers with those of other implementations.
func TestTranscripts(t *testing.T) {
	for _, x := range exchanges {
		d := x.begin()
		first, err := d.Start(nil)
		if err != nil || first == nil || len(first) != 0 {
			t.Fatalf("%v: the first response is %q, %v, want an empty one", x.qop, first, err)
		}
		response, err := d.Next([]byte(x.challenge))
		if err != nil {
			t.Fatalf("%v: %v", x.qop, err)
		}
		fields, err := parseDirectives(string(response))
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			"response": x.response, "cipher": x.cipher, "qop": x.qop.String(), "username": x.user, "digest-uri": x.uri, "cnonce": x.cnonce, "nc": "00000001",
		} {
			i := slices.IndexFunc(fields, func(f directive) bool { return f.name == name })
			if want == "" && i < 0 {
				continue
			}
			if i < 0 || fields[i].value != want {
				t.Errorf("%v: %s is not %q in %s", x.qop, name, want, response)
			}
		}
		if _, err := d.Layer(); err == nil || d.Done() {
			t.Error("there is a layer before the server has proved itself")
		}
		if _, err := d.Next([]byte(x.proof)); err != nil || !d.Done() {
			t.Fatalf("%v: %v", x.qop, err)
		}
		layer, err := d.Layer()
		if err != nil {
			t.Fatal(err)
		}
		if x.qop == Auth {
			if layer != nil {
				t.Error("there is a layer without protection")
			}
			continue
		}
		wantMessages(t, x, layer)
	}
}

// wantMessages compares the messages of a transcript.
func wantMessages(t *testing.T, x exchange, layer Layer) {
	t.Helper()
	if want := map[QOP]int{AuthInt: 65520, AuthConf: 65510}[x.qop]; layer.MaxPlain() != want {
		t.Errorf("%v: the longest message has %d bytes, want %d as in Java", x.qop, layer.MaxPlain(), want)
	}
	for i, message := range plain {
		got, err := layer.Wrap([]byte(message))
		if err != nil || hex.EncodeToString(got) != x.toServer[i] {
			t.Errorf("%v %s: message %d is %x, %v, want %s", x.qop, x.cipher, i, got, err, x.toServer[i])
		}
		wrapped, _ := hex.DecodeString(x.toClient[i])
		if got, err := layer.Unwrap(wrapped); err != nil || string(got) != message {
			t.Errorf("%v %s: message %d is %q, %v, want %q", x.qop, x.cipher, i, got, err, message)
		}
	}
}

// TestWrongProof ends the exchange of a server that does not know the password.
func TestWrongProof(t *testing.T) {
	for _, proof := range []string{"rspauth=ea40f60335c427b5527b84dbabcdfffe", "rspauth=", "", "realm=x", `rspauth="`} {
		d := exchanges[0].begin()
		if _, err := d.Start([]byte(exchanges[0].challenge)); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Next([]byte(proof)); err == nil || d.Done() {
			t.Errorf("%q is accepted", proof)
		}
	}
}

func TestWrongChallenge(t *testing.T) {
	for _, challenge := range []string{
		"", "nonce", `nonce="x`, `nonce="x"`, `nonce="x\`, "algorithm=md5-sess", `nonce="x",algorithm=md5`,
		`nonce="x",nonce="y",algorithm=md5-sess`, `nonce="x" algorithm=md5-sess`,
		`nonce="x",algorithm=md5-sess,maxbuf=0`, `nonce="x",algorithm=md5-sess,maxbuf=99999999`, `nonce="x",algorithm=md5-sess,maxbuf=many`,
		`nonce="x",algorithm=md5-sess,qop="auth-none"`, `nonce="x",algorithm=md5-sess,qop="auth-conf",cipher="rc4-40,des"`,
	} {
		if response, err := exchanges[0].begin().Next([]byte(challenge)); err == nil {
			t.Errorf("%q is answered with %q", challenge, response)
		}
	}
	only := NewDigestMD5("u", []byte("p"), "hdfs", "0", []QOP{AuthConf})
	_, err := only.Start([]byte(`nonce="x",algorithm=md5-sess,qop="auth,auth-int"`))
	if err == nil || !strings.Contains(err.Error(), "auth-int") {
		t.Errorf("a server without encryption: %v", err)
	}
}

// TestDigestLayers passes messages of many lengths in both directions, and then changed ones.
func TestDigestLayers(t *testing.T) {
	for _, cipher := range []string{"", "rc4", "3des"} {
		pair := func() (client, server Layer) {
			client, err := newDigestLayer([16]byte{1, 2, 3}, cipher, 65536, true)
			if err != nil {
				t.Fatal(err)
			}
			server, err = newDigestLayer([16]byte{1, 2, 3}, cipher, 65536, false)
			if err != nil {
				t.Fatal(err)
			}
			return client, server
		}
		client, server := pair()
		for n := range 300 {
			message := bytes.Repeat([]byte{byte(n)}, n)
			for _, way := range [][2]Layer{{client, server}, {server, client}} {
				wantThrough(t, way[0], way[1], message)
			}
		}
		for i := range 26 {
			client, server = pair()
			wrapped, err := client.Wrap([]byte("0123456789"))
			if err != nil {
				t.Fatal(err)
			}
			wrapped[i] ^= 0x10
			if got, err := server.Unwrap(wrapped); err == nil {
				t.Errorf("%s: with byte %d changed it is read as %q", cipher, i, got)
			}
		}
		client, server = pair()
		first, _ := client.Wrap([]byte("first"))
		second, _ := client.Wrap([]byte("second"))
		for _, wrong := range [][]byte{second, first[:10], nil} {
			if got, err := server.Unwrap(wrong); err == nil {
				t.Errorf("%s: %x is read as %q", cipher, wrong, got)
			}
		}
		again := bytes.Clone(first)
		if _, err := server.Unwrap(first); err != nil {
			t.Fatalf("%s: %v", cipher, err)
		}
		if got, err := server.Unwrap(again); err == nil {
			t.Errorf("%s: a repeated message is read as %q", cipher, got)
		}
	}
}

// wantThrough passes one message.
func wantThrough(t *testing.T, from, to Layer, message []byte) {
	t.Helper()
	wrapped, err := from.Wrap(message)
	if err != nil {
		t.Fatal(err)
	}
	got, err := to.Unwrap(wrapped)
	if err != nil || !bytes.Equal(got, message) {
		t.Fatalf("a message of %d bytes is %x, %v", len(message), got, err)
	}
}
