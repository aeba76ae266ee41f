/* The subscribers, one at a time unless they may share, and the callbacks that they want. */
#include "tests/sim/cupti/cupti_sim.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OLD_NAME_BYTES 64
#define SUBSCRIBERS    4

struct CUpti_Subscriber_st {
    _Atomic bool there;
    CUpti_CallbackFunc function;
    void *user;
    char name[OLD_NAME_BYTES];
    _Atomic bool wanted[CUPTI_CB_DOMAIN_SIZE][GV_CUPTI_CBIDS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUpti_Subscriber_st subscribers[SUBSCRIBERS];

static bool is_wanted(const struct CUpti_Subscriber_st *s, CUpti_CallbackDomain domain,
                      CUpti_CallbackId cbid)
{
    return atomic_load(&s->there) &&
           atomic_load_explicit(&s->wanted[domain][cbid], memory_order_relaxed);
}

static void call_back(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
    for (int i = 0; i < SUBSCRIBERS; i++)
        if (is_wanted(&subscribers[i], domain, cbid))
            subscribers[i].function(subscribers[i].user, domain, cbid, data);
}

/* Without the call's parameters: functionParams and symbolName are NULL. */
void gv_cupti_callback_call(struct gv_cupti_call *call, CUpti_ApiCallbackSite site, int *result)
{
    bool any = false;
    for (int i = 0; i < SUBSCRIBERS; i++)
        any |= is_wanted(&subscribers[i], CUPTI_CB_DOMAIN_DRIVER_API, call->cbid);
    if (!any)
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

/* A place for one more subscriber, or NULL with the name of who is in the way. */
static struct CUpti_Subscriber_st *place_for_one(const char **incumbent)
{
    struct CUpti_Subscriber_st *place = NULL;
    *incumbent = gv_cupti_settings.owner;
    for (int i = 0; i < SUBSCRIBERS; i++)
        if (!atomic_load(&subscribers[i].there))
            place = &subscribers[i];
        else if (!gv_cupti_settings.shared)
            *incumbent = subscribers[i].name;
    return *incumbent ? NULL : place;
}

static CUptiResult subscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                             void *user, const char *name, char *old_name, size_t old_bytes)
{
    const char *incumbent;
    if (!handle)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (gv_cupti_no_driver())
        return gv_cupti_no_driver();
    usleep(gv_cupti_settings.start_us);
    pthread_mutex_lock(&lock);
    struct CUpti_Subscriber_st *s = place_for_one(&incumbent);
    if (s) {
        s->function = callback;
        s->user = user;
        snprintf(s->name, sizeof s->name, "CUPTI for %.53s", name ? name : "(unnamed)");
        atomic_store(&s->there, true);
        *handle = s;
    } else if (incumbent && old_name && old_bytes) {
        snprintf(old_name, old_bytes, "%s", incumbent);
    }
    pthread_mutex_unlock(&lock);
    return s ? CUPTI_SUCCESS : CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
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

static bool is_one(CUpti_SubscriberHandle handle)
{
    return handle >= subscribers && handle < subscribers + SUBSCRIBERS &&
           atomic_load(&handle->there);
}

static void forget(struct CUpti_Subscriber_st *s)
{
    pthread_mutex_lock(&lock);
    atomic_store(&s->there, false);
    for (unsigned domain = 0; domain < CUPTI_CB_DOMAIN_SIZE; domain++)
        for (unsigned cbid = 0; cbid < GV_CUPTI_CBIDS; cbid++)
            atomic_store(&s->wanted[domain][cbid], false);
    pthread_mutex_unlock(&lock);
}

void gv_cupti_callbacks_forget(void)
{
    for (int i = 0; i < SUBSCRIBERS; i++)
        forget(&subscribers[i]);
}

GV_CUPTI_EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    GV_CUPTI_ENTER();
    if (!is_one(handle))
        return CUPTI_ERROR_INVALID_PARAMETER;
    forget(handle);
    return CUPTI_SUCCESS;
}

static bool known(CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain)
{
    return is_one(handle) && domain > CUPTI_CB_DOMAIN_INVALID && domain < CUPTI_CB_DOMAIN_SIZE;
}

GV_CUPTI_EXPORT CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
                                                CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    GV_CUPTI_ENTER();
    if (!known(handle, domain) || !cbid || cbid >= GV_CUPTI_CBIDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    atomic_store(&handle->wanted[domain][cbid], enable != 0);
    return CUPTI_SUCCESS;
}

GV_CUPTI_EXPORT CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
                                              CUpti_CallbackDomain domain)
{
    GV_CUPTI_ENTER();
    if (!known(handle, domain))
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (unsigned cbid = 1; cbid < GV_CUPTI_CBIDS; cbid++)
        atomic_store(&handle->wanted[domain][cbid], enable != 0);
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
    *enable = atomic_load(&handle->wanted[domain][cbid]);
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
