package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// cloudConfig is the file of --cloud-config.
type cloudConfig struct {
	Endpoint   string `json:"endpoint"`
	Project    string `json:"project"`
	Region     string `json:"region"`
	Credential string `json:"credential"`
}

func readConfig(from io.Reader) (cloudConfig, error) {
	var config cloudConfig
	if from == nil {
		return config, errors.New("--cloud-config is missing")
	}
	text, err := io.ReadAll(from)
	if err != nil {
		return config, err
	}
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		return config, err
	}
	if config.Endpoint == "" || config.Project == "" || config.Region == "" || config.Credential == "" {
		return config, errors.New("expected endpoint, project, region and credential")
	}
	return config, nil
}

// client sends single requests to the API of the simulated cloud, over connections that are kept.
type client struct {
	base       string
	credential string
	http       *http.Client
}

func newClient(config cloudConfig) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// Routes are made 200 at a time; with the default of two kept connections most of them would begin with a new one.
	transport.MaxIdleConnsPerHost = 256
	transport.MaxIdleConns = 256
	return &client{
		base: fmt.Sprintf("%s/v1/projects/%s/regions/%s",
			strings.TrimRight(config.Endpoint, "/"), url.PathEscape(config.Project), url.PathEscape(config.Region)),
		credential: config.Credential,
		http:       &http.Client{Transport: transport, Timeout: 30 * time.Second},
	}
}

// apiError is any answer that is not a success.
type apiError struct {
	status  int
	code    string
	message string
}

func (e *apiError) Error() string {
	return fmt.Sprintf("HTTP %d %s: %s", e.status, e.code, e.message)
}

// isCode says whether the cloud refused with this very code.
func isCode(err error, code string) bool {
	var refused *apiError
	return errors.As(err, &refused) && refused.code == code
}

// call sends one request. A body of nil sends none; an answer of nil is not decoded.
func (c *client) call(ctx context.Context, method, path string, body, answer any) error {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.credential)
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		var told struct {
			Error struct {
				Code    string `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		}
		// What is no JSON has no code, and then none is known.
		_ = json.Unmarshal(text, &told)
		return &apiError{status: response.StatusCode, code: told.Error.Code, message: told.Error.Message}
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}
