// Google's own code, to hold Mooring and its fake of Compute Engine against:
//
//	mock            its mock of Compute Engine behind HTTP; prints its address
//	classic URL     its cloud provider on the API at URL; prints what it reads, one JSON object a line
//	ensure URL FILE, delete URL FILE
//	                the same with the load balancers of the Services in a file; prints their addresses
package main

import (
	"fmt"
	"os"
)

func main() {
	err := fmt.Errorf("usage: %s mock | classic URL | ensure URL FILE | delete URL FILE", os.Args[0])
	if len(os.Args) == 2 && os.Args[1] == "mock" {
		err = serveMock()
	} else if len(os.Args) == 3 && os.Args[1] == "classic" {
		err = driveClassic(os.Args[2])
	} else if len(os.Args) == 4 && (os.Args[1] == "ensure" || os.Args[1] == "delete") {
		err = driveServices(os.Args[2], os.Args[1], os.Args[3])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
