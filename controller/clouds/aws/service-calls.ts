import { CloudError } from '../../../common/cloud-error.ts';
import { agentEnvironment } from '../../../common/process/proxy-environment.ts';
import type { CloudContext } from '../cloud.ts';
import type { ApplyOptions, Permit } from '../permit.ts';
import type { RateLimiter } from '../rate-limiter.ts';
import type { Urgency } from '../urgency.ts';
import { awsError, codeOf, toCloudError } from './errors.ts';

export interface ReadOptions {
  /** Default `need`. */
  readonly urgency?: Urgency | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The calls of one AWS service. Each is one HTTP exchange without retry, with one deadline, counted, and limited
 * together with the others of its class. A failure is a CloudError with the SDK's error as cause.
 */
export interface ServiceCalls {
  read<Out>(command: SdkCommand<Out>, options?: ReadOptions): Promise<Out>;
  /**
   * The permit is requested last, when the signed request is about to be sent. Throws what the permit throws; then
   * nothing was sent.
   */
  change<Out>(command: SdkCommand<Out>, options: ApplyOptions): Promise<Out>;
  close(): void;
}

/** What is needed of a command of any client of the SDK. */
export interface SdkCommand<Out> {
  readonly middlewareStack: object;
  /** A tuple: kind of schema, namespace, name of the operation. */
  readonly schema?: unknown;
  resolveMiddleware(
    stack: never,
    configuration: never,
    options: never,
  ): (args: never) => Promise<{ readonly output: Out }>;
}

/** The API's name of what a command asks for. */
export function operationOf({ schema }: SdkCommand<unknown>): string {
  const [, , operation] = schema as readonly [kind: number, namespace: string, operation: string];
  return operation;
}

/** What is needed of any client of the SDK. */
export interface SdkClient {
  send(command: never, options: { readonly abortSignal: AbortSignal }): Promise<unknown>;
  destroy(): void;
}

export interface ServiceCallsOptions {
  readonly context: Pick<CloudContext, 'clock' | 'onCall' | 'mutationTimeoutMs'>;
  /** The account's rate limits know these two classes of calls. */
  readonly rateLimiters: { readonly read: RateLimiter; readonly change: RateLimiter };
  /** From a read's start to the end of its answer; for a change, until it is about to be sent. Default 30 s. */
  readonly timeoutMs?: number;
}

/**
 * Settings of every client of the SDK: no retries, which are the controller's, and one connection for each call that
 * may run at once.
 */
export function clientDefaults(env: CloudContext['env']) {
  const proxyEnv = agentEnvironment(env);
  const agent = { keepAlive: true, maxSockets: 48, proxyEnv };
  // Some proxies close the connection after each plain answer without saying so.
  const plain = { ...agent, keepAlive: proxyEnv === undefined };
  return { maxAttempts: 1, requestHandler: { httpAgent: plain, httpsAgent: agent } };
}

export function createServiceCalls(client: SdkClient, options: ServiceCallsOptions): ServiceCalls {
  const { context, rateLimiters, timeoutMs = 30_000 } = options;
  const { clock, onCall, mutationTimeoutMs = 10_000 } = context;

  /**
   * The SDK passes no signal to its credential sources, so the deadline is on the promise and not only on the exchange.
   */
  async function withDeadline<Answer>(
    operation: string,
    signal: AbortSignal | undefined,
    work: (deadline: Deadline) => Promise<Answer>,
  ): Promise<Answer> {
    const cancel = new AbortController();
    const ended = Promise.withResolvers<never>();
    const end = (kind: 'Timeout' | 'Unavailable', message: string) => {
      ended.reject(awsError(kind, operation, message));
      cancel.abort();
    };
    const start = (ms: number) => clock.setTimer(ms, () => end('Timeout', `no answer within ${ms} ms`));
    const onAbort = () => end('Unavailable', 'given up');
    let timer = start(timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    const restart = (ms: number) => {
      cancel.signal.throwIfAborted();
      timer.cancel();
      timer = start(ms);
    };
    try {
      if (signal?.aborted) onAbort();
      return await Promise.race([ended.promise, work({ signal: cancel.signal, restart })]);
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async function exchange<Out>(
    command: SdkCommand<Out>,
    signal: AbortSignal | undefined,
    permit: Permit | undefined,
  ): Promise<Out> {
    const operation = operationOf(command);
    const startedAt = clock.monotonic();
    let code: string | undefined = 'ok';
    let withheld: { readonly error: unknown } | undefined;
    try {
      return await withDeadline(operation, signal, async (deadline) => {
        if (permit !== undefined) {
          askBeforeSending(command, () => {
            deadline.signal.throwIfAborted();
            try {
              permit(mutationTimeoutMs);
            } catch (error) {
              withheld = { error };
              throw error;
            }
            deadline.restart(mutationTimeoutMs);
          });
        }
        return (await client.send(command as never, { abortSignal: deadline.signal })) as Out;
      });
    } catch (error) {
      code = withheld ? undefined : codeForMetrics(error);
      throw withheld ? withheld.error : toCloudError(error, operation);
    } finally {
      const seconds = (clock.monotonic() - startedAt) / 1000;
      if (code !== undefined) onCall({ cloud: 'aws', operation, code, seconds });
    }
  }

  return {
    read: (command, { urgency = 'need', signal } = {}) =>
      rateLimiters.read.run(operationOf(command), () => exchange(command, signal, undefined), { urgency, signal }),
    change(command, { permit, signal }) {
      const limits = { urgency: 'change', signal } as const;
      return rateLimiters.change.run(operationOf(command), () => exchange(command, signal, permit), limits);
    },
    close: () => client.destroy(),
  };
}

interface Deadline {
  readonly signal: AbortSignal;
  /** Throws where it has passed already. */
  restart(ms: number): void;
}

/** Of the SDK's overloads, the one used here. */
interface MiddlewareStack {
  add(
    middleware: (next: (args: unknown) => Promise<unknown>) => (args: unknown) => Promise<unknown>,
    options: { step: 'deserialize'; priority: 'low'; name: string; override: true },
  ): void;
}

/** The step beside the connection itself: the credential is there by then, and the request is signed. */
function askBeforeSending(command: SdkCommand<unknown>, ask: () => void): void {
  const stack = command.middlewareStack as MiddlewareStack;
  stack.add(
    (next) => async (args) => {
      ask();
      return next(args);
    },
    { step: 'deserialize', priority: 'low', name: 'permit', override: true },
  );
}

function codeForMetrics(error: unknown): string {
  if (error instanceof CloudError) return error.kind === 'Timeout' ? 'timeout' : 'unreachable';
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
  return status === undefined ? 'unreachable' : codeOf(error);
}
