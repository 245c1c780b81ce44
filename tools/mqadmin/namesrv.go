package mqadmin

import (
	"context"
	"strings"

	"github.com/seedmq/seedmq/client/admin"
)

func namesrvCommands() []*command {
	broker := []option{{short: "b", long: "brokerName", arg: true, required: true, help: "broker name"}}
	namespace := option{short: "s", long: "namespace", arg: true, required: true, help: "namespace"}
	key := option{short: "k", long: "key", arg: true, required: true, help: "key"}
	value := option{short: "v", long: "value", arg: true, required: true, help: "value"}
	return []*command{
		{name: "getNamesrvConfig", class: "GetNamesrvConfigCommand", short: "Print the NameServers' configuration", json: true, run: getNamesrvConfig},
		{name: "updateNamesrvConfig", class: "UpdateNamesrvConfigCommand", short: "Change a key of the NameServers' configuration",
			options: []option{key, value}, run: updateNamesrvConfig},
		{name: "updateKvConfig", class: "UpdateKvConfigCommand", short: "Set a NameServer key", options: []option{namespace, key, value}, run: updateKvConfig},
		{name: "deleteKvConfig", class: "DeleteKvConfigCommand", short: "Delete a NameServer key", options: []option{namespace, key}, run: deleteKvConfig},
		{name: "wipeWritePerm", class: "WipeWritePermSubCommand", short: "Take the permission to write from a broker in all routes", options: broker,
			run: writePerm("wipe", (*admin.Client).WipeWritePerm)},
		{name: "addWritePerm", class: "AddWritePermSubCommand", short: "Give a broker the permission to write back", options: broker,
			run: writePerm("add", (*admin.Client).AddWritePerm), failText: "command failed"},
	}
}

func getNamesrvConfig(ctx context.Context, c *call) error {
	byAddr := map[string]map[string]string{}
	for _, addr := range c.admin.NameServers() {
		conf, err := c.admin.NameServerConfig(ctx, addr)
		if err != nil {
			return err
		}
		byAddr[addr] = conf
		if !c.asJSON {
			printConfig(c, addr, conf)
		}
	}
	if len(byAddr) == 0 {
		return noNameServer()
	}
	if c.asJSON {
		return c.printJSON(byAddr)
	}
	return nil
}

func noNameServer() error { return &admin.ConnectError{Err: admin.ErrNoNameServer} }

func updateNamesrvConfig(ctx context.Context, c *call) error {
	if err := c.admin.UpdateNameServerConfig(ctx, map[string]string{c.str("k"): c.str("v")}); err != nil {
		return err
	}
	servers := ""
	if c.has("n") {
		servers = "[" + strings.Join(c.admin.NameServers(), ", ") + "]"
	}
	c.printf("update name server config success!%s\n%s : %s\n", servers, c.str("k"), c.str("v"))
	return nil
}

func updateKvConfig(ctx context.Context, c *call) error {
	if err := c.admin.PutKV(ctx, c.str("s"), c.str("k"), c.str("v")); err != nil {
		return err
	}
	c.printf("create or update kv config to namespace success.\n")
	return nil
}

func deleteKvConfig(ctx context.Context, c *call) error {
	if err := c.admin.DeleteKV(ctx, c.str("s"), c.str("k")); err != nil {
		return err
	}
	c.printf("delete kv config from namespace success.\n")
	return nil
}

// writePerm changes a broker's permission on each NameServer; one that fails does not keep the others from being asked.
func writePerm(verb string, change func(*admin.Client, context.Context, string, string) (int, error)) func(context.Context, *call) error {
	return func(ctx context.Context, c *call) error {
		servers, broker := c.admin.NameServers(), c.str("b")
		if len(servers) == 0 {
			return noNameServer()
		}
		for _, addr := range servers {
			n, err := change(c.admin, ctx, addr, broker)
			if err != nil {
				c.printf("%s write perm of broker[%s] in name server[%s] Failed\n", verb, broker, addr)
				c.trace(err)
				continue
			}
			c.printf("%s write perm of broker[%s] in name server[%s] OK, %d\n", verb, broker, addr, n)
		}
		return nil
	}
}
