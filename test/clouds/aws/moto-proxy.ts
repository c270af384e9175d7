import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One call of a query API. */
export interface MotoCall {
  readonly action: string;
  /**
   * The API's version: 2016-11-15 = EC2, 2012-06-01 = classic load balancers, 2015-12-01 = network load balancers,
   * 2011-06-15 = STS.
   */
  readonly version: string;
  readonly form: URLSearchParams;
}

export interface MotoAnswer {
  readonly status: number;
  readonly body: string;
}

/** What moto does not do as AWS does. Answers in its place, or undefined: the next rule, at last moto itself. */
export type MotoRule = (call: MotoCall, moto: MotoLink) => Promise<MotoAnswer | undefined>;

export interface MotoLink {
  /** The call itself, or with other parameters. */
  forward(form?: URLSearchParams): Promise<MotoAnswer>;
  /** A call of the rule's own, which is not counted. */
  ask(version: string, action: string, parameters?: Readonly<Record<string, string>>): Promise<MotoAnswer>;
}

/** In front of a moto server: counts changes, loses answers, refuses credentials, and answers for what moto lacks. */
export interface MotoProxy {
  readonly url: string;
  /** Mutating calls so far. */
  mutations(): number;
  /** The next mutating call but `after` is carried out, and its answer is lost. */
  loseAnswer(after: number): void;
  refuseCredential(refused: boolean): void;
  /** Every call so far. */
  readonly calls: readonly MotoCall[];
  close(): Promise<void>;
}

export const ec2Version = '2016-11-15';
export const elbVersion = '2012-06-01';
export const elbV2Version = '2015-12-01';

export function mutates({ action, form }: MotoCall): boolean {
  return !/^(Describe|Get|List|Assume)/.test(action) && form.get('DryRun') !== 'true';
}

/** What answers a call: a server behind the proxy, or a fake in this process. */
export type Exchange = (form: URLSearchParams, headers: IncomingHttpHeaders) => Promise<MotoAnswer>;

export async function startMotoProxy(exchange: Exchange, rules: readonly MotoRule[] = []): Promise<MotoProxy> {
  const calls: MotoCall[] = [];
  let mutations = 0;
  let lost: number | undefined;
  let refused = false;
  const server = createServer(async (request, response) => {
    const { headers } = request;
    const body = await textOf(request);
    const form = new URLSearchParams(body);
    const call: MotoCall = { action: form.get('Action') ?? '', version: form.get('Version') ?? '', form };
    calls.push(call);
    const counted = mutates(call);
    if (counted) mutations += 1;
    const mine = mutations;
    const answer = refused ? refusal(call) : await answerOf(call, headers);
    if (counted && mine === lost) {
      lost = undefined;
      request.socket.destroy();
      return;
    }
    response.writeHead(answer.status, { 'content-type': 'text/xml' });
    response.end(answer.body);
  });

  async function answerOf(call: MotoCall, headers: IncomingHttpHeaders): Promise<MotoAnswer> {
    const send = (form: URLSearchParams) => exchange(form, headers);
    const link: MotoLink = {
      forward: (form = call.form) => send(form),
      ask: (version, action, parameters) =>
        send(new URLSearchParams({ Action: action, Version: version, ...parameters })),
    };
    for (const rule of rules) {
      const answer = await rule(call, link);
      if (answer !== undefined) return answer;
    }
    return link.forward();
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mutations: () => mutations,
    loseAnswer(after) {
      lost = mutations + after + 1;
    },
    refuseCredential(value) {
      refused = value;
    },
    calls,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Moto tells services and regions by the credential scope of the signature, and does not check it. */
export async function askMoto(moto: string, form: URLSearchParams, headers: IncomingHttpHeaders): Promise<MotoAnswer> {
  const version = form.get('Version');
  const service = version === ec2Version ? 'ec2' : version === '2011-06-15' ? 'sts' : 'elasticloadbalancing';
  const authorization = String(headers.authorization ?? '').replace(
    /\/[a-z0-9-]+\/aws4_request/,
    `/${service}/aws4_request`,
  );
  const answer = await fetch(moto, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
    body: form,
  });
  return { status: answer.status, body: await answer.text() };
}

/** As each API says that a credential is none. */
function refusal({ version }: MotoCall): MotoAnswer {
  const error = version === ec2Version ? 'AuthFailure' : 'InvalidClientTokenId';
  return errorAnswer(version, error, 'The security token included in the request is invalid.', 403);
}

/** An error as the API of this version sends it. */
export function errorAnswer(version: string, code: string, message: string, status = 400): MotoAnswer {
  const error = `<Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error>`;
  const body =
    version === ec2Version
      ? `<Response><Errors>${error}</Errors><RequestID>1</RequestID></Response>`
      : `<ErrorResponse>${error}<RequestId>1</RequestId></ErrorResponse>`;
  return { status, body };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}
