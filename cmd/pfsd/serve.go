package main

import (
	"cmp"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/urfave/cli/v2"
)

// serveOptions are the options of serve.
type serveOptions struct {
	data                  string
	listen, metricsListen string
	sftp                  string
	datacenters           []datacenter
	current               string
	tlsCert, tlsKey       string
	noTLS, insecure       bool
	logFormat, logLevel   string
	auditLog              string
	accessLife            time.Duration // lifetime of access tokens
	connections, requests int
	handles               int
	webhdfs               webhdfsOptions
	perAddress            int // connections of one address; 0: no limit, below 0: a quarter of all

	file  configFile
	fixed map[string]bool // options that the command line sets
}

func (m *Main) serveCommand() *cli.Command {
	o := &serveOptions{}
	return &cli.Command{
		Name:  "serve",
		Usage: "run the service",
		Description: "Runs the service until SIGTERM or SIGINT. Then requests in progress have 30 seconds to end;\n" +
			"unfinished uploads can be resumed later. A second signal ends the service at once. SIGHUP\n" +
			"reloads the certificate and the log level and reopens the audit log.\n\n" +
			"With --data alone it makes what it needs there: accounts, keys, a certificate and one\n" +
			"datacenter \"local\" with its files in DIR/store. Stores: " + backends.Forms + ".",
		Flags: serveFlags(o),
		Action: func(c *cli.Context) error {
			if err := o.read(c); err != nil {
				return err
			}
			return m.serve(c.Context, *o)
		},
	}
}

// maxAccessLife bounds --access-life, because access tokens cannot be revoked.
const maxAccessLife = 24 * time.Hour

// defaultLogLevel is the level of the log without --log-level.
const defaultLogLevel = "info"

// serveFlags are the options of serve, which set those of o. A configuration file may set all but
// the first.
func serveFlags(o *serveOptions) []cli.Flag {
	o.logFormat, o.logLevel = "text", defaultLogLevel
	return []cli.Flag{
		configFlag,
		dataFlag,
		&cli.StringFlag{Name: "listen", Destination: &o.listen, Value: "127.0.0.1:8730", Usage: "serve at `HOST:PORT`; port 0 takes a free one"},
		&cli.StringSliceFlag{Name: "datacenter", Usage: "`NAME=URL` of a store; may be repeated"},
		&cli.StringFlag{Name: "current", Destination: &o.current, Usage: "`NAME` of the datacenter of /pfs/public", DefaultText: "the first"},
		&cli.StringFlag{Name: "tls-cert", Destination: &o.tlsCert, Usage: "PEM `FILE` of the certificate chain", DefaultText: "a self-signed one in DIR"},
		&cli.StringFlag{Name: "tls-key", Destination: &o.tlsKey, Usage: "PEM `FILE` of its key"},
		&cli.BoolFlag{Name: "no-tls", Destination: &o.noTLS, Usage: "serve plain HTTP, on loopback only"},
		&cli.BoolFlag{Name: "insecure", Destination: &o.insecure, Usage: "allow --no-tls elsewhere: behind a proxy that does TLS"},
		&cli.IntFlag{Name: "max-connections", Destination: &o.connections, Value: 4096, Usage: "accept at most `N` connections at a time"},
		&cli.IntFlag{Name: "max-connections-per-address", Destination: &o.perAddress, Value: -1, Usage: "accept at most `N` connections from one address; 0 is no limit, for a service behind a proxy", DefaultText: "a quarter"},
		&cli.IntFlag{Name: "max-requests", Destination: &o.requests, Value: 256, Usage: "process at most `N` requests at a time, a quarter of them for one user"},
		&cli.IntFlag{Name: "max-handles", Destination: &o.handles, Value: 4096, Usage: "keep at most `N` files open for clients at a time, a quarter of them for one user"},
		&cli.GenericFlag{Name: "access-life", Value: &cliio.DurationFlag{Duration: auth.DefaultAccessLife}, Usage: "`DURATION` of access tokens; clients renew them"},
		&cli.StringFlag{Name: keySFTP, Destination: &o.sftp, Usage: "serve SFTP and SCP at `HOST:PORT`"},
		&cli.StringFlag{Name: "metrics-listen", Destination: &o.metricsListen, Usage: "serve /metrics, /healthz and /readyz over plain HTTP at `HOST:PORT`", DefaultText: "/metrics at --listen, on loopback only"},
		&cli.StringFlag{Name: keyWebHDFS, Destination: &o.webhdfs.listen, Usage: "serve clients of HDFS at `HOST:PORT`: WebHDFS", DefaultText: "off"},
		&cli.StringFlag{Name: "audit-log", Destination: &o.auditLog, Usage: "append a line per change to `FILE`; - is standard output", DefaultText: "in the log, a summary at a terminal"},
		&cli.GenericFlag{Name: "log-format", Value: cliargs.Suggest(&o.logFormat, "json", "text"), Usage: "`FORMAT` of the log: text or json"},
		&cli.GenericFlag{Name: "log-level", Value: cliargs.Suggest(&o.logLevel, "debug", "error", "info", "warn"), Usage: "`LEVEL` of the log: debug, info, warn or error"},
	}
}

// read completes the options from the command line and the configuration file, and checks them.
func (o *serveOptions) read(c *cli.Context) (err error) {
	if _, err := operands(c); err != nil {
		return err
	}
	o.fixed = map[string]bool{}
	for _, name := range c.LocalFlagNames() {
		o.fixed[name] = true
	}
	if o.file, err = readConfigFile(c); err == nil {
		err = o.file.apply(c)
	}
	if err != nil {
		return err
	}
	listen := o.webhdfs.listen
	o.webhdfs = o.file.webhdfs
	o.webhdfs.listen = listen
	if o.data, err = dataDir(c); err != nil {
		return err
	}
	if o.datacenters, err = readDatacenters(c, o.file, o.data); err != nil {
		return err
	}
	o.accessLife = c.Duration("access-life")
	o.current = cmp.Or(o.current, o.datacenters[0].name)
	return o.check()
}

// host returns the host of --listen, empty if it is all addresses.
func (o serveOptions) host() string {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return ""
	}
	return host
}

// addressShare returns the number of connections that one address may have; 0 means no limit.
func (o serveOptions) addressShare() int {
	if o.perAddress < 0 {
		return max(1, o.connections/4)
	}
	return o.perAddress
}

// check refuses contradictory options.
func (o serveOptions) check() error {
	switch {
	case findDatacenter(o.datacenters, o.current) < 0:
		return cliargs.Usagef("--current %s is not one of the datacenters", o.current)
	case (o.tlsCert == "") != (o.tlsKey == ""):
		return cliargs.Usagef("--tls-cert and --tls-key are needed together")
	case o.noTLS && o.tlsCert != "":
		return cliargs.Usagef("--no-tls and --tls-cert contradict each other")
	case o.insecure && !o.noTLS:
		return cliargs.Usagef("--insecure needs --no-tls")
	case o.accessLife < time.Second || o.accessLife > maxAccessLife:
		return cliargs.Usagef("--access-life %v: it must be %v to %v", o.accessLife, time.Second, maxAccessLife)
	case o.connections < 1 || o.requests < 1 || o.handles < 1:
		return cliargs.Usagef("--max-connections, --max-requests and --max-handles must be at least 1")
	}
	if err := checkApart(o.datacenters); err != nil {
		return err
	}
	var level slog.LevelVar
	if err := setLevel(&level, o.logLevel); err != nil {
		return err
	}
	if _, err := newLogger(io.Discard, o.logFormat, &level); err != nil {
		return err
	}
	err := cliio.CheckAddress("--listen", o.listen)
	if err == nil {
		err = o.checkSFTP()
	}
	if err == nil && o.noTLS && !o.insecure && !cliio.IsLoopback(o.host()) {
		err = cliargs.Usagef("--no-tls would send passwords in plain text to %s: use TLS, listen on 127.0.0.1, or add --insecure behind a proxy that does TLS", o.listen)
	}
	if err == nil && o.metricsListen != "" {
		err = cliio.CheckAddress("--metrics-listen", o.metricsListen)
	}
	if err == nil {
		err = o.checkWebHDFS()
	}
	return err
}
