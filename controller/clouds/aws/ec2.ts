import {
  type AvailabilityZone,
  DescribeAvailabilityZonesCommand,
  DescribeInstancesCommand,
  type DescribeInstancesRequest,
  type DescribeInstancesResult,
  EC2Client,
  type EC2ClientConfig,
} from '@aws-sdk/client-ec2';
import { CloudError } from '../../../common/cloud-error.ts';
import type { CallGate } from '../call-gate.ts';
import type { CloudContext } from '../cloud.ts';
import { codeOf, toCloudError } from './errors.ts';

/** The few calls of EC2 that nodes need. Each is one HTTP exchange: no retry, one deadline, counted; fails with a CloudError. */
export interface Ec2 {
  describeInstances(request: DescribeInstancesRequest, signal?: AbortSignal): Promise<DescribeInstancesResult>;
  /** The zones of the region; `dryRun` only asks whether the call is allowed. */
  describeZones(dryRun: boolean, signal?: AbortSignal): Promise<readonly AvailabilityZone[]>;
  /** Resolves as soon as there is a credential; makes no call to EC2. */
  credential(signal?: AbortSignal): Promise<void>;
  /** The host the calls go to, with its port where it is not the scheme's own. */
  host(): Promise<string>;
  close(): void;
}

export interface Ec2Options {
  readonly client: EC2ClientConfig & { readonly region: string };
  readonly context: Pick<CloudContext, 'clock' | 'onCall'>;
  readonly gate: CallGate;
  readonly timeoutMs: number;
}

export function createEc2({ client: config, context, gate, timeoutMs }: Ec2Options): Ec2 {
  const { clock, onCall } = context;
  const client = new EC2Client({
    ...config,
    // Retrying is the controller's business, which knows what else waits.
    maxAttempts: 1,
    requestHandler: { httpAgent: { keepAlive: true, maxSockets: 8 }, httpsAgent: { keepAlive: true, maxSockets: 8 } },
  });

  function call<Answer>(
    operation: string,
    signal: AbortSignal | undefined,
    send: (abortSignal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    return gate.run(operation, async () => {
      const startedAt = clock.monotonic();
      let code = 'ok';
      try {
        return await withDeadline(operation, signal, send);
      } catch (error) {
        code = codeForMetrics(error);
        throw toCloudError(error, operation);
      } finally {
        onCall({ cloud: 'aws', operation, code, seconds: (clock.monotonic() - startedAt) / 1000 });
      }
    });
  }

  /** The SDK hands no signal to its credential sources, so the deadline is the promise's and not only the exchange's. */
  async function withDeadline<Answer>(
    operation: string,
    signal: AbortSignal | undefined,
    send: (abortSignal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    const cancel = new AbortController();
    const ended = Promise.withResolvers<never>();
    const end = (kind: 'Timeout' | 'Unavailable', message: string) => {
      ended.reject(new CloudError({ kind, cloud: 'aws', operation, message }));
      cancel.abort();
    };
    const onAbort = () => end('Unavailable', 'given up');
    const timer = clock.setTimer(timeoutMs, () => end('Timeout', `no answer within ${timeoutMs} ms`));
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      if (signal?.aborted) onAbort();
      return await Promise.race([ended.promise, send(cancel.signal)]);
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
    }
  }

  return {
    describeInstances: (request, signal) =>
      call('DescribeInstances', signal, (abortSignal) =>
        client.send(new DescribeInstancesCommand(request), { abortSignal }),
      ),
    describeZones: (dryRun, signal) =>
      call('DescribeAvailabilityZones', signal, async (abortSignal) => {
        const command = new DescribeAvailabilityZonesCommand({ DryRun: dryRun });
        return (await client.send(command, { abortSignal })).AvailabilityZones ?? [];
      }),
    async credential(signal) {
      try {
        await withDeadline('credentials', signal, () => client.config.credentials());
      } catch (error) {
        throw toCloudError(error, 'credentials');
      }
    },
    async host() {
      const endpoint = await (client.config.endpoint?.() ?? client.config.serviceConfiguredEndpoint?.());
      if (endpoint !== undefined) return hostOf(endpoint);
      const { url } = client.config.endpointProvider({
        Region: config.region,
        UseDualStack: await client.config.useDualstackEndpoint(),
        UseFIPS: await client.config.useFipsEndpoint(),
      });
      return url.host;
    },
    close: () => client.destroy(),
  };
}

function hostOf(endpoint: string | { hostname: string; port?: number | undefined }): string {
  if (typeof endpoint === 'string') return new URL(endpoint).host;
  return endpoint.port === undefined ? endpoint.hostname : `${endpoint.hostname}:${endpoint.port}`;
}

function codeForMetrics(error: unknown): string {
  if (error instanceof CloudError) return error.kind === 'Timeout' ? 'timeout' : 'unreachable';
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
  return status === undefined ? 'unreachable' : codeOf(error);
}
