package main

import (
	"context"
	"net"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs/webhdfs"
	"go.yaml.in/yaml/v3"
)

// keyWebHDFS is the key of the gateway's options in a configuration file.
const keyWebHDFS = "webhdfs"

// webhdfsOptions are the options of the gateway for clients of HDFS.
type webhdfsOptions struct {
	listen        string
	root          string
	trustUserName bool
	tls           *bool // nil: except on loopback
}

// parseWebHDFS parses the options of the gateway.
func (f *configFile) parseWebHDFS(m *yaml.Node) error {
	const keyRoot, keyTrust, keyTLS = "root", "trust-user-name", "tls"
	return f.file.EachPairOf(keyWebHDFS, m, `"listen: HOST:PORT" belongs`, []string{keyListen, keyRoot, keyTrust, keyTLS}, func(key string, v *yaml.Node) (err error) {
		o := &f.webhdfs
		switch key {
		case keyListen:
			var address string
			address, err = f.file.Text(key, v)
			f.settings = append(f.settings, setting{keyWebHDFS, address, v.Line})
		case keyRoot:
			if o.root, err = f.file.Text(key, v); err == nil {
				if reason := webhdfs.CheckRoot(o.root); reason != nil {
					err = f.file.Errorf(v.Line, "%s: %s: %v", keyWebHDFS, key, cause(reason))
				}
			}
		case keyTrust:
			o.trustUserName, err = f.file.Flag(key, v)
		default:
			o.tls = new(bool)
			*o.tls, err = f.file.Flag(key, v)
		}
		return err
	})
}

// withTLS reports whether the gateway serves HTTPS.
func (o webhdfsOptions) withTLS() bool {
	if o.tls != nil {
		return *o.tls
	}
	host, _, err := net.SplitHostPort(o.listen)
	return err != nil || !cliio.IsLoopback(host)
}

// checkWebHDFS refuses contradictory options of the gateway.
func (o serveOptions) checkWebHDFS() error {
	if o.webhdfs.listen == "" {
		if o.webhdfs != (webhdfsOptions{}) {
			return cliargs.Usagef("%s without an address: add listen: HOST:PORT, or --webhdfs HOST:PORT", keyWebHDFS)
		}
		return nil
	}
	if err := cliio.CheckAddress("--webhdfs", o.webhdfs.listen); err != nil {
		return err
	}
	if o.webhdfs.withTLS() && o.noTLS {
		return cliargs.Usagef("--webhdfs %s needs TLS, which --no-tls switches off: listen on 127.0.0.1, or set \"webhdfs: {tls: false}\" in the configuration file", o.webhdfs.listen)
	}
	return nil
}

// webhdfsDoor returns the listener of the gateway with its server.
func (s *service) webhdfsDoor() (door, error) {
	o := s.opts.webhdfs
	h, err := webhdfs.New(webhdfs.Config{
		Auth: s.auth, Open: s.sessions("webhdfs"), Root: o.root, TrustUserName: o.trustUserName, Logger: s.log,
		Home: s.home,
		Refused: func(ctx context.Context, user, remote string, err error) {
			s.server.AuditLogin(ctx, "webhdfs", user, remote, err)
		},
	})
	if err != nil {
		return door{}, err
	}
	config := s.tlsConfig()
	if !o.withTLS() {
		config = nil
	}
	return door{s.httpServer(h), stacked(s.webhdfs, s.opts.connections, s.opts.addressShare(), config)}, nil
}
