import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { AnswerFields } from '../answer-fields.ts';
import type { ExpiringCredential } from '../expiring-credential.ts';
import { type ApiRequest, createJsonApi, type JsonApi, type JsonApiOptions } from '../json-api.ts';
import { cloud, endlessPages, errorOf, provedAbsent } from './fault.ts';
import { type AccessKey, sign } from './sign.ts';

/** The services, by the first part of their host names. */
export type Service = 'ecs' | 'vpc' | 'elb' | 'eip' | 'iam';

/** A request to one service. In its path `{project}` stands for the id of the project. */
export interface ServiceRequest extends ApiRequest {
  readonly service: Service;
}

export type HuaweiClient = ReturnType<typeof createClient>;

export interface ClientOptions
  extends Omit<JsonApiOptions, 'cloud' | 'errorOf' | 'timeoutMs' | 'endpoint' | 'authorization'> {
  readonly keys: ExpiringCredential<AccessKey>;
  readonly region: string;
  readonly projectId: string | undefined;
  /** Base URL of a service. */
  endpointOf(service: Service): string;
}

const timeoutMs = 15_000;
const pageSize = 500;

/** Signed calls to one project. */
export function createClient({ keys, region, projectId, endpointOf, ...options }: ClientOptions) {
  const { clock } = options;
  const apis = new Map<Service, JsonApi>();
  let project: Promise<string> | undefined = projectId === undefined ? undefined : Promise.resolve(projectId);

  function apiOf(service: Service): JsonApi {
    const api =
      apis.get(service) ??
      createJsonApi({
        ...options,
        cloud,
        timeoutMs,
        endpoint: endpointOf(service),
        errorOf(operation, answer) {
          const error = errorOf(operation, answer);
          if (error.kind === 'Unauthorized') keys.forget();
          return error;
        },
        async authorization(request) {
          const id = service === 'iam' ? undefined : await projectOf(undefined);
          return sign(request, await keys.get(), id, clock.now());
        },
      });
    apis.set(service, api);
    return api;
  }

  async function readProject(signal: AbortSignal | undefined): Promise<string> {
    const request = { path: '/v3/projects', query: [['name', region]] as const, signal };
    const projects = (await apiOf('iam').call(request)).objects('projects');
    const id = projects.find((one) => one.text('name') === region)?.text('id');
    if (id !== undefined) return id;
    const message = `no project is named ${JSON.stringify(region)}, expected project-id in the configuration`;
    throw new CloudError({ kind: 'Invalid', cloud, operation: 'GET /v3/projects', message });
  }
  async function projectOf(signal: AbortSignal | undefined): Promise<string> {
    project ??= readProject(signal).catch((error: unknown) => {
      project = undefined;
      throw error;
    });
    return project;
  }

  async function placed({ service, path, ...request }: ServiceRequest) {
    const operation = request.operation ?? `${request.method ?? 'GET'} ${service} ${namesOf(path)}`;
    return { ...request, operation, path: path.replace('{project}', await projectOf(request.signal)) };
  }
  const call = async (request: ServiceRequest) => apiOf(request.service).call(await placed(request));

  return {
    /** The id of the project: as configured, or that of the region, which is read once. */
    project: projectOf,
    call,
    send: async (request: ServiceRequest): Promise<unknown> => apiOf(request.service).send(await placed(request)),
    /** The answer; undefined where the service says that what the path ends with does not exist. Reads only. */
    async get(request: ServiceRequest): Promise<AnswerFields | undefined> {
      try {
        return await call(request);
      } catch (error) {
        if (!isCloudError(error) || error.kind !== 'NotFound') throw error;
        const id = request.path.slice(request.path.lastIndexOf('/') + 1);
        const proof = provedAbsent(error, id);
        if (proof.kind === 'NotFound') return undefined;
        throw proof;
      }
    },
    /** Every item of a collection by pages with a marker: complete, or throws. Reads only. */
    async list(request: ServiceRequest, collection: string): Promise<readonly AnswerFields[]> {
      const items = new Map<string, AnswerFields>();
      let marker: string | undefined;
      for (;;) {
        const paging = Object.entries({ limit: String(pageSize), ...(marker !== undefined && { marker }) });
        const answer = await call({ ...request, query: [...(request.query ?? []), ...paging] });
        const found = answer.objects(collection);
        const before = items.size;
        for (const item of found) items.set(item.text('id'), item);
        if (found.length < pageSize) return [...items.values()];
        if (items.size === before) throw endlessPages(collection);
        marker = found.at(-1)?.text('id');
      }
    },
  };
}

/** `/v1/cloudservers/{id}`: ids of projects and resources are no names. */
function namesOf(path: string): string {
  return path.replace('/{project}', '').replace(/\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\/|$)/gi, '/{id}');
}
