/** The SDK's service ids, as `[ServiceOverride]` names them. */
export type ServiceId = 'EC2' | 'Elastic Load Balancing' | 'Elastic Load Balancing v2' | 'STS';
