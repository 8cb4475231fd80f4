package main

import (
	"context"
	"net"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/sftpd"
	"go.yaml.in/yaml/v3"
)

// The keys of the gateway for SFTP in a configuration file. The first is also the option for its address.
const (
	keySFTP    = "sftp"
	keyListen  = "listen"
	keyAliases = "aliases"
)

// parseSFTP parses the options of the gateway for SFTP.
func (f *configFile) parseSFTP(m *yaml.Node) error {
	return f.file.EachPairOf(keySFTP, m, `"listen: HOST:PORT" belongs`, []string{keyListen, keyAliases}, func(key string, v *yaml.Node) error {
		if key == keyListen {
			address, err := f.file.Text(key, v)
			f.settings = append(f.settings, setting{keySFTP, address, v.Line})
			return err
		}
		return f.file.EachPairOf(keyAliases, v, `"/mnt/NAME: /pfs/..." belongs`, nil, func(from string, v *yaml.Node) error {
			to, err := f.file.Text(from, v)
			if err != nil {
				return err
			}
			a := sftpd.Alias{From: from, To: to}
			if err := sftpd.CheckAlias(a); err != nil {
				return f.file.Errorf(v.Line, "%s: %v", keyAliases, cause(err))
			}
			f.aliases = append(f.aliases, a)
			return nil
		})
	})
}

// checkSFTP refuses contradictory options of the gateway for SFTP.
func (o serveOptions) checkSFTP() error {
	if o.sftp == "" {
		if len(o.file.aliases) > 0 {
			return cliargs.Usagef("%s: %s without an address: add listen: HOST:PORT, or --sftp HOST:PORT", keySFTP, keyAliases)
		}
		return nil
	}
	return cliio.CheckAddress("--sftp", o.sftp)
}

// openSFTP makes the gateway for SFTP, which serves the connections of s.ssh.
func (s *service) openSFTP(ctx context.Context) error {
	if s.ssh == nil {
		return nil
	}
	key, err := auth.LoadOrMakeHostKey(ctx, s.opts.data)
	if err != nil {
		return err
	}
	g, err := sftpd.New(sftpd.Config{
		Auth: s.auth, Open: s.sessions("sftp"), HostKey: key, Aliases: s.opts.file.aliases, Logger: s.log,
		Home: func(id auth.Identity) pfs.Path { return s.home(id.Name) },
		Logged: func(ctx context.Context, user, remote string, err error) {
			s.server.AuditLogin(ctx, "sftp", user, remote, err)
		},
	})
	if err != nil {
		return err
	}
	l := newLimitListener(s.ssh, s.opts.connections, s.opts.addressShare())
	s.gateways = append(s.gateways, func(ctx context.Context) error { return g.Serve(ctx, l) })
	s.hostKey = g.Fingerprint()
	return nil
}

// announceSFTP returns the lines that state how to reach the gateway for SFTP.
func (s *service) announceSFTP() []string {
	if s.ssh == nil {
		return nil
	}
	host, port, _ := net.SplitHostPort(strings.TrimPrefix(endpoint("sftp", s.ssh.Addr()), "sftp://"))
	return []string{"host key of SSH: fingerprint " + s.hostKey, "to copy by SSH: sftp -P " + port + " NAME@" + host}
}
