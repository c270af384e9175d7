package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/GoogleCloudPlatform/k8s-cloud-provider/pkg/cloud"
	"github.com/GoogleCloudPlatform/k8s-cloud-provider/pkg/cloud/filter"
	"github.com/GoogleCloudPlatform/k8s-cloud-provider/pkg/cloud/meta"
	"github.com/GoogleCloudPlatform/k8s-cloud-provider/pkg/cloud/mock"
	ga "google.golang.org/api/compute/v1"
	"google.golang.org/api/googleapi"
)

const project = "proj"

var (
	zones    = []string{"us-central1-a", "us-central1-b", "europe-west1-d"}
	numbers  atomic.Int64
	reasons  = map[int]string{400: "invalid", 404: "notFound", 409: "alreadyExists", 412: "conditionNotMet"}
	wordings = map[int]string{404: "The resource '%s' was not found", 409: "The resource '%s' already exists"}
)

// serveMock puts Google's mock behind its own API: each method is called by its name, each body is read as its type, and
// a field that the type does not have is refused. Operations have ended when they are answered; filters, pages, field
// masks, fingerprints, quotas and refusals of what is in use are not applied.
func serveMock() error {
	m := withLoadBalancers(cloud.NewMockGCE(&cloud.SingleProjectRouter{ID: project}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	var turn sync.Mutex
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turn.Lock()
		defer turn.Unlock()
		answer(m, w, r)
	}))
}

func answer(m *cloud.MockGCE, w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/compute/v1/")
	p := strings.Split(path, "/")
	switch {
	case len(p) < 2 || p[0] != "projects" || p[1] != project:
		fail(w, 404, path, "")
	case len(p) == 2:
		send(w, 200, &ga.Project{Name: project, Id: 881234567890})
	case len(p) == 4 && p[2] == "aggregated" && p[3] == "instances":
		aggregated(m, w)
	case len(p) == 4 && p[2] == "aggregated" && p[3] == "instanceGroups":
		aggregatedGroups(m, w)
	case len(p) >= 5 && p[2] == "regions":
		collection := p[4]
		if collection == "backendServices" || collection == "healthChecks" {
			collection = "region" + strings.ToUpper(collection[:1]) + collection[1:]
		}
		call(m, w, r, path, collection, p[5:], func(name string) *meta.Key { return meta.RegionalKey(name, p[3]) }, p[3])
	case len(p) >= 4 && p[2] == "global":
		call(m, w, r, path, p[3], p[4:], func(name string) *meta.Key { return meta.GlobalKey(name) }, "")
	case len(p) >= 5 && p[2] == "zones":
		call(m, w, r, path, p[4], p[5:], func(name string) *meta.Key { return meta.ZonalKey(name, p[3]) }, p[3])
	default:
		fail(w, 404, path, "")
	}
}

func aggregated(m *cloud.MockGCE, w http.ResponseWriter) {
	items := map[string]any{}
	for _, zone := range zones {
		found, err := m.Instances().List(context.Background(), zone, filter.None)
		if err != nil {
			failWith(w, err, "")
			return
		}
		items["zones/"+zone] = map[string]any{"instances": found}
		if len(found) == 0 {
			items["zones/"+zone] = map[string]any{"warning": map[string]string{"code": "NO_RESULTS_ON_PAGE"}}
		}
	}
	send(w, 200, map[string]any{"kind": "compute#instanceAggregatedList", "items": items})
}

func aggregatedGroups(m *cloud.MockGCE, w http.ResponseWriter) {
	items := map[string]any{}
	for _, zone := range zones {
		found, err := m.InstanceGroups().List(context.Background(), zone, filter.None)
		if err != nil {
			failWith(w, err, "")
			return
		}
		// The mock leaves the zone out.
		for _, group := range found {
			group.Zone = "https://www.googleapis.com/compute/v1/projects/" + project + "/zones/" + zone
		}
		items["zones/"+zone] = map[string]any{"instanceGroups": found}
		if len(found) == 0 {
			items["zones/"+zone] = map[string]any{"warning": map[string]string{"code": "NO_RESULTS_ON_PAGE"}}
		}
	}
	send(w, 200, map[string]any{"kind": "compute#instanceGroupAggregatedList", "items": items})
}

// withLoadBalancers gives the mock the hooks that Google's own tests of its provider use.
func withLoadBalancers(m *cloud.MockGCE) *cloud.MockGCE {
	m.MockForwardingRules.InsertHook = mock.InsertFwdRuleHook
	m.MockAddresses.InsertHook = mock.InsertAddressHook
	m.MockAddresses.X = mock.AddressAttributes{}
	m.MockTargetPools.AddInstanceHook = mock.AddInstanceHook
	m.MockInstanceGroups.X = mock.InstanceGroupAttributes{
		InstanceMap: map[meta.Key]map[string]*ga.InstanceWithNamedPorts{}, Lock: &sync.Mutex{},
	}
	m.MockInstanceGroups.AddInstancesHook = mock.AddInstancesHook
	m.MockInstanceGroups.RemoveInstancesHook = mock.RemoveInstancesHook
	m.MockInstanceGroups.ListInstancesHook = mock.ListInstancesHook
	return m
}

func call(m *cloud.MockGCE, w http.ResponseWriter, r *http.Request, path, collection string, rest []string, key func(string) *meta.Key, zone string) {
	if collection == "operations" {
		send(w, 200, &ga.Operation{Name: rest[0], Status: "DONE", Progress: 100})
		return
	}
	service := reflect.ValueOf(m).MethodByName(strings.ToUpper(collection[:1]) + collection[1:])
	if !service.IsValid() {
		fail(w, 404, path, "")
		return
	}
	methods := service.Call(nil)[0]
	ctx := reflect.ValueOf(context.Background())
	run := func(method string, in ...reflect.Value) (reflect.Value, bool) {
		out := methods.MethodByName(method).Call(append([]reflect.Value{ctx}, in...))
		if err, ok := out[len(out)-1].Interface().(error); ok {
			failWith(w, err, path)
			return reflect.Value{}, false
		}
		return out[0], true
	}
	switch {
	case r.Method == "GET" && len(rest) == 0:
		in := []reflect.Value{reflect.ValueOf(filter.None)}
		if zone != "" {
			in = append([]reflect.Value{reflect.ValueOf(zone)}, in...)
		}
		if items, ok := run("List", in...); ok {
			send(w, 200, map[string]any{"items": items.Interface()})
		}
	case r.Method == "GET" && len(rest) == 1:
		if found, ok := run("Get", reflect.ValueOf(key(rest[0]))); ok {
			send(w, 200, found.Interface())
		}
	case r.Method == "PATCH" && len(rest) == 1:
		if found, ok := run("Get", reflect.ValueOf(key(rest[0]))); ok {
			text, _ := io.ReadAll(r.Body)
			if err := decode(text, reflect.New(found.Type().Elem()).Interface()); err != nil {
				fail(w, 400, path, err.Error())
				return
			}
			replace(w, run, key(rest[0]), found, func() error { return json.Unmarshal(text, found.Interface()) })
		}
	case r.Method == "POST" && len(rest) == 2 && actions[rest[1]] != nil:
		if found, ok := run("Get", reflect.ValueOf(key(rest[0]))); ok {
			text, _ := io.ReadAll(r.Body)
			replace(w, run, key(rest[0]), found, func() error { return actions[rest[1]](text, found.Interface()) })
		}
	case r.Method == "DELETE" && len(rest) == 1:
		if _, ok := run("Delete", reflect.ValueOf(key(rest[0]))); ok {
			// The mock keeps the members of a group that is gone.
			groups := m.MockInstanceGroups.X.(mock.InstanceGroupAttributes)
			groups.Lock.Lock()
			if collection == "instanceGroups" {
				delete(groups.InstanceMap, *key(rest[0]))
			}
			groups.Lock.Unlock()
			done(w)
		}
	case r.Method == "POST" && len(rest) == 0:
		body := reflect.New(methods.MethodByName("Insert").Type().In(2).Elem())
		text, _ := io.ReadAll(r.Body)
		if err := decode(text, body.Interface()); err != nil {
			fail(w, 400, path, err.Error())
			return
		}
		name := body.Elem().FieldByName("Name").String()
		if id := body.Elem().FieldByName("Id"); id.Uint() == 0 {
			id.SetUint(uint64(numbers.Add(1)))
		}
		// The mock gives no addresses.
		if ip := body.Elem().FieldByName("IPAddress"); ip.IsValid() && ip.String() == "" {
			ip.SetString(fmt.Sprintf("203.0.113.%d", numbers.Add(1)%250+1))
			if body.Elem().FieldByName("IpVersion").String() == "IPV6" {
				ip.SetString(fmt.Sprintf("2600:1900:4000:2:0:%x:0:0/96", numbers.Add(1)%250+1))
			}
		}
		path += "/" + name
		if _, ok := run("Insert", reflect.ValueOf(key(name)), body); ok {
			done(w)
		}
	case r.Method == "POST" && len(rest) == 2:
		verb := strings.ToUpper(rest[1][:1]) + rest[1][1:]
		body := reflect.New(methods.MethodByName(verb).Type().In(2).Elem())
		text, _ := io.ReadAll(r.Body)
		if err := decode(text, body.Interface()); err != nil {
			fail(w, 400, path, err.Error())
			return
		}
		in := []reflect.Value{reflect.ValueOf(key(rest[0])), body}
		if verb == "ListInstances" {
			in = append(in, reflect.ValueOf(filter.None))
		}
		if out, ok := run(verb, in...); ok && verb == "ListInstances" {
			send(w, 200, map[string]any{"items": out.Interface()})
		} else if ok {
			done(w)
		}
	default:
		fail(w, 404, path, "")
	}
}

// decode reads a body as its type, and refuses what the type does not have.
func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("Invalid JSON payload: %w", err)
	}
	return nil
}

// replace puts a changed object in place of the one that the mock has: it has no method, or one without an effect, for
// most changes.
func replace(w http.ResponseWriter, run func(string, ...reflect.Value) (reflect.Value, bool), key *meta.Key, found reflect.Value, change func() error) {
	if err := change(); err != nil {
		fail(w, 400, "", err.Error())
		return
	}
	if _, ok := run("Delete", reflect.ValueOf(key)); !ok {
		return
	}
	if _, ok := run("Insert", reflect.ValueOf(key), found); ok {
		done(w)
	}
}

// without leaves out one link; links begin in several ways.
func without(links []string, link string) (kept []string) {
	for _, one := range links {
		if !strings.HasSuffix(one, strings.TrimPrefix(link, "projects/"+project)) {
			kept = append(kept, one)
		}
	}
	return kept
}

// actions are what the mock does not do, or not with links that begin in another way.
var actions = map[string]func(text []byte, found any) error{
	"setLabels": func(text []byte, found any) error {
		var request ga.RegionSetLabelsRequest
		err := decode(text, &request)
		found.(*ga.ForwardingRule).Labels = request.Labels
		return err
	},
	"removeInstance": func(text []byte, found any) error {
		var request ga.TargetPoolsRemoveInstanceRequest
		err := decode(text, &request)
		pool := found.(*ga.TargetPool)
		for _, each := range request.Instances {
			pool.Instances = without(pool.Instances, each.Instance)
		}
		return err
	},
	"addHealthCheck": func(text []byte, found any) error {
		var request ga.TargetPoolsAddHealthCheckRequest
		err := decode(text, &request)
		pool := found.(*ga.TargetPool)
		for _, each := range request.HealthChecks {
			pool.HealthChecks = append(pool.HealthChecks, each.HealthCheck)
		}
		return err
	},
	"removeHealthCheck": func(text []byte, found any) error {
		var request ga.TargetPoolsRemoveHealthCheckRequest
		err := decode(text, &request)
		pool := found.(*ga.TargetPool)
		for _, each := range request.HealthChecks {
			pool.HealthChecks = without(pool.HealthChecks, each.HealthCheck)
		}
		return err
	},
}

func done(w http.ResponseWriter) {
	send(w, 200, &ga.Operation{Name: fmt.Sprintf("operation-%d", numbers.Add(1)), Status: "DONE", Progress: 100})
}

// failWith tells the mock's errors in the words of the API; the mock has words of its own.
func failWith(w http.ResponseWriter, err error, path string) {
	if refused, ok := err.(*googleapi.Error); ok {
		fail(w, refused.Code, path, refused.Message)
		return
	}
	fail(w, 400, path, err.Error())
}

func fail(w http.ResponseWriter, code int, path, message string) {
	if wording, ok := wordings[code]; ok {
		message = fmt.Sprintf(wording, path)
	}
	errors := []any{map[string]string{"message": message, "domain": "global", "reason": reasons[code]}}
	send(w, code, map[string]any{"error": map[string]any{"code": code, "message": message, "errors": errors}})
}

func send(w http.ResponseWriter, code int, body any) {
	w.Header().Set("content-type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(body)
}
