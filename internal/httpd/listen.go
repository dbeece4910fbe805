package httpd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Listen listens on the address of a setting, such as http.listen. The error names the setting.
func Listen(ctx context.Context, setting, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is %q: another process listens there, maybe this program once more: stop that one, or "+
			"give another address (--%s): %w", setting, address, setting, err)
	case err != nil:
		return nil, fmt.Errorf("%s is %q: %w", setting, address, err)
	}
	return l, nil
}
