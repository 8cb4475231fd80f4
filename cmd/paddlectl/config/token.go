package config

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/hadooptoken"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// Token returns the command token.
func Token(a *app.App) *cli.Command {
	var file, webhdfs string
	return a.NewCommand(app.Spec{
		Name:    "token",
		Summary: "make a token file for Hadoop's programs",
		Text: `Writes a file that Hadoop's programs read as HADOOP_TOKEN_FILE_LOCATION, so that they may
use the WebHDFS of the service (pfsd serve --webhdfs) as you. The file holds the current
login of paddlectl: keep it as secret as that. It is valid for as long as the login, at
most 30 days, and ends with paddlectl logout.`,
		Examples: []string{
			"paddlectl token --hadoop alice.token --webhdfs https://cloud.example.org:9870",
			"HADOOP_TOKEN_FILE_LOCATION=alice.token hadoop fs -ls swebhdfs://cloud.example.org:9870/",
		},
		Exits: app.RemoteExits(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "hadoop", Usage: "write `FILE`, which is replaced if it exists", Destination: &file},
			&cli.StringFlag{Name: "webhdfs", Usage: "`URL` of WebHDFS: https://HOST:PORT, or http:// without TLS", Destination: &webhdfs},
		},
		Run: func(ctx context.Context, _ []string) error {
			if file == "" || webhdfs == "" {
				return cliargs.Usagef("--hadoop FILE and --webhdfs URL are needed")
			}
			return writeToken(ctx, a, file, webhdfs)
		},
	})
}

func writeToken(ctx context.Context, a *app.App, name, webhdfs string) error {
	services, kind, err := tokenServices(ctx, webhdfs)
	if err != nil {
		return err
	}
	conn, err := a.Remotes.Service(ctx, "token")
	if err != nil {
		return err
	}
	tokens, err := conn.Login(ctx)
	if err != nil {
		return err
	}
	id := hadooptoken.Identifier{Owner: tokens.User, Renewer: tokens.User, Issued: time.Now(), Max: tokens.RefreshExpires}
	var list []hadooptoken.Token
	for _, service := range services {
		list = append(list, hadooptoken.Token{Identifier: id.Encode(), Password: []byte(tokens.Refresh), Kind: kind, Service: service})
	}
	if err := replacePrivate(name, hadooptoken.File(list)); err != nil {
		return pfs.E("paddlectl.token", "", pfs.KindOf(err), err)
	}
	a.Printf("%s is valid until %s\n", a.Name(name), cliio.Escape(tokens.RefreshExpires.Local().Format(time.DateTime)))
	return nil
}

// replacePrivate writes a file that nobody else has open or can read. One that exists could be either.
func replacePrivate(name string, content []byte) error {
	if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// tokenServices returns the names by which Hadoop's programs look for the token of an address: its IP addresses, or
// its name if hadoop.security.token.service.use_ip is off.
func tokenServices(ctx context.Context, webhdfs string) (services []string, kind string, err error) {
	u, err := url.Parse(webhdfs)
	if err != nil {
		u = &url.URL{}
	}
	kind = map[string]string{"http": hadooptoken.WebHDFS, "https": hadooptoken.SWebHDFS, "webhdfs": hadooptoken.WebHDFS, "swebhdfs": hadooptoken.SWebHDFS}[u.Scheme]
	if kind == "" || u.Port() == "" {
		return nil, "", cliargs.Usagef("--webhdfs %s: an address such as https://HOST:9870 is needed", webhdfs)
	}
	hosts, err := net.DefaultResolver.LookupHost(ctx, u.Hostname())
	if err != nil {
		return nil, "", pfs.E("paddlectl.token", "", pfs.Unavailable, err)
	}
	if !slices.Contains(hosts, u.Hostname()) {
		hosts = append(hosts, u.Hostname())
	}
	for _, h := range hosts {
		services = append(services, h+":"+u.Port())
	}
	return services, kind, nil
}
