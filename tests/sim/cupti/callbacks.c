/* The subscriber, one at a time, and the callbacks that it wants. */
#include "tests/sim/cupti/cupti_sim.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OLD_NAME_BYTES 64

struct CUpti_Subscriber_st {
    CUpti_CallbackFunc function;
    void *user;
    char name[OLD_NAME_BYTES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUpti_Subscriber_st the_one;
static struct CUpti_Subscriber_st *_Atomic subscriber;
static _Atomic bool wanted[CUPTI_CB_DOMAIN_SIZE][GV_CUPTI_CBIDS];

static void call_back(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
    struct CUpti_Subscriber_st *s = atomic_load(&subscriber);
    if (s && atomic_load_explicit(&wanted[domain][cbid], memory_order_relaxed))
        s->function(s->user, domain, cbid, data);
}

/* Without the call's parameters: functionParams and symbolName are NULL. */
void gv_cupti_callback_call(struct gv_cupti_call *call, CUpti_ApiCallbackSite site, int *result)
{
    if (!atomic_load_explicit(&wanted[CUPTI_CB_DOMAIN_DRIVER_API][call->cbid],
                              memory_order_relaxed))
        return;
    uint32_t context = 0, device;
    CUpti_CallbackData data = {.callbackSite = site,
                               .functionName = gv_cupti_cbid_name(call->cbid),
                               .functionReturnValue = result,
                               .correlationData = &call->client_data,
                               .correlationId = call->correlation};
    data.context = gv_cupti_driver()->context(&context, &device);
    data.contextUid = context;
    call_back(CUPTI_CB_DOMAIN_DRIVER_API, call->cbid, &data);
}

void gv_cupti_callback_resource(CUpti_CallbackIdResource cbid, const CUpti_ResourceData *data)
{
    call_back(CUPTI_CB_DOMAIN_RESOURCE, cbid, data);
}

static CUptiResult subscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                             void *user, const char *name, char *old_name, size_t old_bytes)
{
    const char *incumbent = gv_cupti_settings.owner;
    if (!handle)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!gv_cupti_driver())
        return CUPTI_ERROR_NOT_INITIALIZED;
    usleep(gv_cupti_settings.start_us);
    pthread_mutex_lock(&lock);
    if (!incumbent && atomic_load(&subscriber))
        incumbent = the_one.name;
    if (!incumbent) {
        the_one.function = callback;
        the_one.user = user;
        snprintf(the_one.name, sizeof the_one.name, "CUPTI for %.53s", name ? name : "(unnamed)");
        atomic_store(&subscriber, &the_one);
        *handle = &the_one;
    } else if (old_name && old_bytes) {
        snprintf(old_name, old_bytes, "%s", incumbent);
    }
    pthread_mutex_unlock(&lock);
    return incumbent ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED : CUPTI_SUCCESS;
}

GV_CUPTI_EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *handle,
                                           CUpti_CallbackFunc callback, void *userdata)
{
    GV_CUPTI_ENTER();
    return subscribe(handle, callback, userdata, NULL, NULL, 0);
}

#if GV_CUPTI_API >= 130000
GV_CUPTI_EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *handle,
                                              CUpti_CallbackFunc callback, void *userdata,
                                              CUpti_SubscriberParams *pParams)
{
    GV_CUPTI_ENTER();
    if (!pParams)
        return subscribe(handle, callback, userdata, NULL, NULL, 0);
    if (pParams->structSize < CUpti_SubscriberParams_STRUCT_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    return subscribe(handle, callback, userdata, pParams->subscriberName,
                     pParams->oldSubscriberName, pParams->oldSubscriberSize);
}
#endif

GV_CUPTI_EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    GV_CUPTI_ENTER();
    if (!handle || handle != atomic_load(&subscriber))
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    atomic_store(&subscriber, NULL);
    for (unsigned domain = 0; domain < CUPTI_CB_DOMAIN_SIZE; domain++)
        for (unsigned cbid = 0; cbid < GV_CUPTI_CBIDS; cbid++)
            atomic_store(&wanted[domain][cbid], false);
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

static bool known(CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain)
{
    return handle && handle == atomic_load(&subscriber) && domain > CUPTI_CB_DOMAIN_INVALID &&
           domain < CUPTI_CB_DOMAIN_SIZE;
}

GV_CUPTI_EXPORT CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
                                                CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    GV_CUPTI_ENTER();
    if (!known(handle, domain) || !cbid || cbid >= GV_CUPTI_CBIDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    atomic_store(&wanted[domain][cbid], enable != 0);
    return CUPTI_SUCCESS;
}

GV_CUPTI_EXPORT CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
                                              CUpti_CallbackDomain domain)
{
    GV_CUPTI_ENTER();
    if (!known(handle, domain))
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (unsigned cbid = 1; cbid < GV_CUPTI_CBIDS; cbid++)
        atomic_store(&wanted[domain][cbid], enable != 0);
    return CUPTI_SUCCESS;
}

GV_CUPTI_EXPORT CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle)
{
    CUptiResult result = CUPTI_SUCCESS;
    for (int domain = 1; domain < CUPTI_CB_DOMAIN_SIZE && !result; domain++)
        result = cuptiEnableDomain(enable, handle, (CUpti_CallbackDomain)domain);
    return result;
}

GV_CUPTI_EXPORT CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle handle,
                                                  CUpti_CallbackDomain domain,
                                                  CUpti_CallbackId cbid)
{
    GV_CUPTI_ENTER();
    if (!enable || !known(handle, domain) || cbid >= GV_CUPTI_CBIDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *enable = atomic_load(&wanted[domain][cbid]);
    return CUPTI_SUCCESS;
}

GV_CUPTI_EXPORT CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid,
                                                 const char **name)
{
    GV_CUPTI_ENTER();
    if (!name)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *name = domain == CUPTI_CB_DOMAIN_DRIVER_API ? gv_cupti_cbid_name(cbid) : NULL;
    return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}
