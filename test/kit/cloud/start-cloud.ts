import { adminService } from './admin.ts';
import { createSimulatedCloud, type SimulatedCloud, type SimulatedCloudOptions } from './cloud.ts';
import { serveWire } from './http-server.ts';

export interface RunningCloud extends SimulatedCloud {
  /** Base of the API (`/v1`) and of the back door (`/admin`). */
  readonly url: string;
  /** Base of the metadata services. */
  readonly metadataBase: string;
  /** What an agent gets as `--metadata-url`. */
  metadataUrl(instanceId: string): string;
  /** Stops both servers and the model's timer. Safe to repeat. */
  stop(): Promise<void>;
}

export interface StartCloudOptions extends SimulatedCloudOptions {
  /** Of the API; 0 or left out = any free one. */
  readonly port?: number;
  readonly metadataPort?: number;
}

/**
 * Starts a simulated cloud on 127.0.0.1: API and admin API on one port, the metadata services on another. Creating and
 * deleting a load balancer takes 300 ms each, unless the options say otherwise.
 */
export async function startCloud(options: StartCloudOptions): Promise<RunningCloud> {
  const loadBalancerTimings = { provisioningMs: 300, deletingMs: 300, ...options.loadBalancerTimings };
  const cloud = createSimulatedCloud({ ...options, loadBalancerTimings });
  const admin = adminService(cloud);
  const api = await serveWire(
    (request, signal) => (request.path.startsWith('/admin/') ? admin : cloud.api)(request, signal),
    options.port,
  );
  const metadata = await serveWire(cloud.metadata, options.metadataPort);
  return {
    ...cloud,
    url: api.url,
    metadataBase: metadata.url,
    metadataUrl: (instanceId) => `${metadata.url}/${instanceId}`,
    async stop() {
      cloud.close();
      await Promise.all([api.stop(), metadata.stop()]);
    },
  };
}
